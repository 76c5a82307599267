"""What of a machine may be shown."""

from hccl_kit.diagnosis.masking import Masker
from hccl_kit.snapshot.document import masked
from tests.snapshot.machines import machine


def test_a_mount_whose_folder_has_a_private_name_is_left_out() -> None:
    settings = {
        "mount /data": "nfs4",
        "mount /home/alice": "nfs4",
        "mount /data/secret-project": "lustre",
        "TLS": "off",
    }
    shown = masked(machine(settings=settings), Masker()).settings
    assert {name: text for name, text in shown.items() if name in settings} == {"mount /data": "nfs4", "TLS": "off"}
