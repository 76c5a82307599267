"""What the agent says, in the language of the user."""

from __future__ import annotations

from hccl_kit.agent.texts import TEXTS
from hccl_kit.base.translation import translated


def agent_texts() -> dict[str, str]:
    """The texts that the agent is sent: none in English, which it has."""
    texts = {id_: translated(english, id_) for id_, english in TEXTS.items()}
    return {id_: text for id_, text in texts.items() if text != TEXTS[id_]}
