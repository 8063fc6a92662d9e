"""Clients under test: the suite plays their server, and the person at their terminal.

`scripted_server` answers what a scenario says, through the doors `http_door` and `stdio_door`.
`terminal` runs the client, `person` sits in front of it, `opened` has it all. Knows no family.
"""
