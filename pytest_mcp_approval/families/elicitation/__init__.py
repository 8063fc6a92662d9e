"""Approval by elicitation: a tool call runs when a person answers the server's question with yes."""
