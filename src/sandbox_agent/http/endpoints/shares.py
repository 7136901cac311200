"""Shares: tickets that admit reading one instance, until they expire or are revoked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import msgspec
from msgspec import Meta

from sandbox_agent import errors
from sandbox_agent.errors import Conflict
from sandbox_agent.http.acp.operations import SERVER_ID
from sandbox_agent.http.json_body import json_body, json_response
from sandbox_agent.http.messages import Request, Response
from sandbox_agent.http.openapi.operation import Content, Operation, PathParameter, ResponseSpec

if TYPE_CHECKING:
    from sandbox_agent.http.access.tickets import Share
    from sandbox_agent.http.services import Services

_DAY_MS = 24 * 60 * 60 * 1000
_MAX_MS = 30 * _DAY_MS
_SHARE_ID = PathParameter("share_id", "`id` of the share", "share_1f2e3d4c")
_ERRORS = [errors.SessionNotFound, errors.Conflict]
Count = Annotated[int, Meta(ge=0)]


class ShareRequest(msgspec.Struct, rename="camel"):
    expires_in_ms: Annotated[int, Meta(ge=1000, le=_MAX_MS)] = _DAY_MS


class ShareInfo(msgspec.Struct, rename="camel", kw_only=True):
    """A share. `readers`: streams that are open with it. Only its creation returns the ticket."""

    id: str
    created_at_ms: Count
    expires_at_ms: Count
    readers: Count

    @classmethod
    def of(cls, share: Share) -> ShareInfo:
        return cls(
            id=share.id,
            created_at_ms=share.created_at_ms,
            expires_at_ms=share.expires_at_ms,
            readers=share.readers,
        )


class CreatedShare(msgspec.Struct, rename="camel", kw_only=True):
    id: str
    ticket: str
    created_at_ms: Count
    expires_at_ms: Count


class ShareList(msgspec.Struct):
    shares: list[ShareInfo]


_INFO = ShareInfo(
    id="share_1f2e3d4c", created_at_ms=1_767_322_800_000, expires_at_ms=1_767_409_200_000, readers=1
)
_CREATED = CreatedShare(
    id=_INFO.id, ticket="3f2a...", created_at_ms=_INFO.created_at_ms, expires_at_ms=_INFO.expires_at_ms
)


@Operation(
    id="createShare",
    tag="acp",
    summary="A ticket to read one instance without the token",
    description=(
        "Sent as the bearer token, it admits `GET /v1/acp/{server_id}` and `GET /v1/acp?serverId=` of this "
        "instance and nothing else. It is valid until it expires (a day by default, 30 days at most), is "
        "revoked, or the instance is closed; open streams end with it. `include=client` shows prompts and "
        "answers; of other messages of clients only id and method. A server without a token has nothing to "
        "share: 409."
    ),
    parameters=[SERVER_ID],
    body=Content(ShareRequest, ShareRequest(_DAY_MS)),
    responses={200: ResponseSpec("The share and its ticket", [Content(CreatedShare, _CREATED)])},
    errors=[*_ERRORS, errors.PayloadTooLarge, errors.UnsupportedMediaType],
)
async def create_share(request: Request, services: Services) -> Response:
    wanted = await json_body(request, services, ShareRequest)
    instance = services.instances.get(request.path_params[0])
    if not services.access.has_token:
        raise Conflict("the server has no token, so everything on it is open already")
    share = services.access.tickets.share(instance.server_id, wanted.expires_in_ms / 1000)
    created = CreatedShare(
        id=share.id,
        ticket=share.ticket,
        created_at_ms=share.created_at_ms,
        expires_at_ms=share.expires_at_ms,
    )
    return json_response(created, [(b"cache-control", b"no-store")])


@Operation(
    id="listShares",
    tag="acp",
    summary="The valid shares of an instance, without their tickets",
    parameters=[SERVER_ID],
    responses={200: ResponseSpec("Oldest first", [Content(ShareList, ShareList([_INFO]))])},
    errors=[errors.SessionNotFound],
)
async def list_shares(request: Request, services: Services) -> Response:
    instance = services.instances.get(request.path_params[0])
    shares = services.access.tickets.shares_of(instance.server_id)
    return json_response(ShareList([ShareInfo.of(share) for share in shares]))


@Operation(
    id="revokeShare",
    tag="acp",
    summary="End a share and the streams that are open with it",
    parameters=[SERVER_ID, _SHARE_ID],
    responses={204: ResponseSpec("Revoked")},
    errors=[errors.SessionNotFound, errors.NotFound],
)
async def revoke_share(request: Request, services: Services) -> Response:
    server_id, share_id = request.path_params
    services.access.tickets.revoke(services.instances.get(server_id).server_id, share_id)
    return Response(204)
