/** JSON-RPC error codes; `jsonrpc_error_codes.py` of the server has the ones of the protocols too. */

export const METHOD_NOT_FOUND = -32601;
export const INVALID_PARAMS = -32602;
/** The agent wants a login or an API key. */
export const AUTH_REQUIRED = -32000;
/** The page's own code for a problem of the server, which has no meaning to the user. */
export const SERVER_PROBLEM = -32099;
