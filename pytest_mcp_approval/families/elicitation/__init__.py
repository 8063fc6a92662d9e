"""Approval by elicitation: a call runs when a person answers the server's question with yes."""
