"""``GET /v1/models`` and ``/v1/models/{id}``: OpenAI's contract. What is served is what the recogniser says it has."""

from contextlib import aclosing
from typing import Any

from fastapi import APIRouter, Request

from services.common.errors import Overloaded, Unavailable
from services.common.ports import Call
from services.common.types import Encoding, Ready, RecognizeConfig
from services.gateway.inbox import Inbox
from services.gateway.openai.errors import no_model
from services.gateway.schemas import MODEL_ALIASES
from services.gateway.state import GatewayState, gateway

router = APIRouter(prefix="/v1/models", tags=["openai"])


@router.get("", summary="Models that can be asked for")
async def models(request: Request) -> dict[str, Any]:
    """Return the speech models and their aliases."""
    state = gateway(request)
    return {"object": "list", "data": [_described(name, state) for name in await names(state)]}


@router.get("/{name:path}", summary="One model")
async def model(request: Request, name: str) -> dict[str, Any]:
    """Return one of them."""
    state = gateway(request)
    if name not in await names(state):
        raise no_model(name)
    return _described(name, state)


async def names(state: GatewayState) -> tuple[str, ...]:
    """Return what may be asked for. Unavailable when the recogniser does not say."""
    try:
        state.model = await _served(state)
    except Overloaded:
        if not state.model:
            raise
    return (state.model, *MODEL_ALIASES)


async def _served(state: GatewayState) -> str:
    config = RecognizeConfig(Encoding.FILE)
    call = Call().within(state.settings.ready_timeout_s)
    async with aclosing(state.upstreams.transcriber(Inbox.of(config), call)) as events:
        async for event in events:
            if isinstance(event, Ready):
                return event.model
    raise Unavailable("the recogniser does not say which model it has")


def _described(name: str, state: GatewayState) -> dict[str, Any]:
    return {"id": name, "object": "model", "created": state.started_s, "owned_by": "attune"}
