"""What runs: mailboxes, places, bodies to send, and pending requests.

It uses C through `_bridge`. It does not use clients, which are on the floor above.
"""
