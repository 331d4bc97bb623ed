"""Put on PYTHONPATH, this ends a Python process at its first socket or look-up, before a byte can leave the machine.

It ends the process rather than raise an error, because an error could be caught and never be seen.
"""

import os
import sys

REFUSED = 97


def _refuse(event: str, arguments: tuple[object, ...]) -> None:
    if event.startswith("socket."):
        os.write(2, f"offline: {event} {arguments!r}\n".encode())
        os._exit(REFUSED)


sys.addaudithook(_refuse)
