"""The command that serves a key to other programs."""

from __future__ import annotations

import re
import threading

import pytest
from fido2.ctap2 import ClientPin, Ctap2

from tests.virtual_authenticator.support.udp_client import over_udp
from virtual_authenticator import Authenticator
from virtual_authenticator.transport.__main__ import main


class Stop(threading.Event):
    """Stops at once, after what is to be done while the key is plugged in."""

    def __init__(self, meanwhile):
        super().__init__()
        self.meanwhile = meanwhile

    def wait(self, timeout=None):
        self.meanwhile()
        return True


def test_a_key_is_served_and_saved(tmp_path, capsys):
    state = tmp_path / "key.json"

    def set_pin():
        found = re.search(r"plugged in at 127\.0\.0\.1:(\d+)", capsys.readouterr().out)
        assert found
        device = over_udp(int(found[1]))
        ClientPin(Ctap2(device)).set_pin("2468")
        device.close()

    arguments = ["udp", "--shape", "security-key-2.3", "--port", "0", "--state", str(state)]
    assert main(arguments, Stop(set_pin)) == 0
    assert Ctap2(Authenticator.load(state).ctap).info.options["clientPin"] is True
    assert main(["udp", "--port", "0", "--state", str(state)], Stop(lambda: None)) == 0
    assert capsys.readouterr().out.startswith("security-key-2.3 is plugged in")  # the saved one


def test_what_is_wrong_is_said_in_a_line(tmp_path, capsys):
    assert main(["uhid", "--node", str(tmp_path / "none")]) == 1
    said = capsys.readouterr().err
    assert "modprobe uhid" in said
    assert said.count("\n") == 1
    with pytest.raises(SystemExit):
        main(["serial"])
