// The differences that may occur, and why. `npm run fidelity` fails for every other one, and when one of these no longer
// occurs. docs/gateway.md has the same table.

/**
 * A difference matches if all given fields do; `probe` and `path` are patterns. `what` and `why` are the columns of the
 * table.
 */
export const ALLOWED = [
  {
    what: 'At `/mcp`, the handshake is that of Toolroom: `serverInfo`, and the `instructions` under a heading per server',
    why: 'One endpoint answers for all servers',
    via: 'all',
    probe: /^handshake$/,
    path: /^\/result(?!\/capabilities)/,
  },
  {
    what: 'At `/mcp`, the capabilities are those that hold for all servers together, and lists may always change',
    why: 'A server may be added or removed at any time, and what only one server supports is found at its own address',
    via: 'all',
    probe: /^handshake$/,
    path: /^\/result\/capabilities(?!\/logging)/,
  },
  {
    what: 'At `/mcp`, a list is one page without the `_meta` of a server, empty if a server has no such list, and no cursor is valid',
    why: 'It is joined from the lists of all servers, and one of them must not make it fail',
    via: 'all',
    probe: /\/list(?: pages| with an (?:unknown|empty) cursor)?$/,
    at: /^(?:missing|added|value) (?:\/\d+|\/error(?:\/\w+)?|\/result(?:\/\w+)?)$|^order \/result$/,
  },
  {
    what: 'At `/mcp`, Toolroom answers requests for a tool, prompt, resource or completion that no server lists',
    why: 'There is no server to ask',
    via: 'all',
    probe:
      /which is unknown$|of an unknown tool$|without a name$|^resources\/read nothing:|of no_such_prompt/,
    path: /^\/(?:error|result)/,
  },
  {
    what: 'At `/mcp`, the `logger` of a log message begins with the id of its server',
    why: 'The client could not tell the servers apart',
    via: 'all',
    probe: / messages$/,
    path: /\/params\/logger$/,
  },
  {
    what: 'At `/mcp/{server_id}`, tools are one page with `ttlMs` and `cacheScope` of Toolroom, and no cursor is valid',
    why: 'The list comes from the last known catalogue, so that it is available while the server is idle, and follows the settings of each agent',
    via: 'server',
    probe: /^tools\/list(?: pages| with an unknown cursor)?$/,
    path: /^(?:\/\d+|\/error(?:\/\w+)?|\/result|\/result\/(?:resultType|ttlMs|cacheScope))$/,
  },
  {
    what: 'At `/mcp/{server_id}`, Toolroom answers calls of a tool that is not listed: -32602, `Unknown tool`',
    why: 'A tool that is hidden from an agent must not be distinguishable from one that does not exist',
    via: 'server',
    probe: /of an unknown tool$|^tools\/call without a name$/,
    path: /^\/(?:error|result)/,
  },
  {
    what: '`initialize` has the `protocolVersion` that the client requested, and `server/discover` has `supportedVersions`, `ttlMs` and `cacheScope` of Toolroom',
    why: 'Toolroom supports every revision for every server',
    via: 'server',
    probe: /^handshake$/,
    path: /^\/result\/(?:protocolVersion|supportedVersions(?:\/\d+)?|ttlMs|cacheScope)$/,
  },
  {
    what: 'A modern client of a legacy server gets `resultType`, `ttlMs` and `cacheScope`',
    why: 'The revision 2026-07-28 requires them',
    isTranslated: true,
    era: 'modern',
    path: /^\/result\/(?:resultType|ttlMs|cacheScope)$/,
    kind: 'added',
  },
  {
    what: 'A server that supports one era per process is a legacy server for all clients: a modern client gets no `_meta` of the server, and other fields first',
    why: 'One process serves agents of both eras, and Toolroom opens it with `initialize`',
    isPinned: true,
    era: 'modern',
    at: /^missing \/result\/_meta|^order \/result$/,
  },
  {
    what: '`logging/setLevel` is answered by Toolroom, also when it refuses a level',
    why: 'The level of a server is the most verbose one that any agent requested',
    probe: /^logging\/setLevel/,
    path: /^\/(?:error|result)/,
  },
  {
    what: 'Notifications and requests of a server are written again: `1.0` as `1`, `\\u00e9` as `é`, and numbers of more than 15 digits are rounded',
    why: 'Toolroom reads them',
    probe: /^tools\/call .* messages$/,
    at: /^(?:spelling|value) \/\d+\/params\//,
  },
  {
    what: 'An empty cursor is no cursor',
    why: 'Several clients send it with their first request',
    probe: /^(?:tools|prompts|resources|resources\/templates)\/list with an empty cursor$/,
  },
  {
    what: 'At `/mcp`, Toolroom answers methods that MCP does not define, and tasks: -32601. A call as a task returns its result, and other unknown methods have no server',
    why: 'Such a request does not name a server, and a task could not be followed',
    via: 'all',
    probe: /^vendor\/|^unknown method$|^tasks\/|as a task$/,
    path: /^\/(?:error|result)/,
  },
  {
    what: 'At `/mcp`, a server lists what it offers to a client with roots, sampling, elicitation and pages, but without tasks',
    why: 'The list is joined from the processes that all agents share',
    via: 'all',
    probe: /^tools\/list$/,
    path: /^\/result\/tools\/[^/]+$/,
    kind: /added|missing/,
  },
  {
    what: 'At `/mcp/{server_id}`, a server of both eras lists for a modern client what it offers to a client with roots, sampling, elicitation and pages',
    why: 'The list comes from the process that all agents share',
    via: 'server',
    era: 'modern',
    probe: /^tools\/list$/,
    path: /^\/result\/tools\/[^/]+$/,
    kind: 'added',
  },
  {
    what: 'At `/mcp/{server_id}`, the handshake and the fields of the tool list beside `tools` are written again: `1.0` as `1`, and numbers of more than 15 digits are rounded. Fields that MCP does not define are dropped, and so is the `_meta` of `initialize`',
    why: 'Toolroom reads them and keeps what it knows',
    via: 'server',
    probe: /^handshake$|^tools\/list$/,
    at: /^spelling \/result|^value \/result\/(?:serverInfo|_meta\/.*serverInfo)\/x_build$|^missing \/result\/(?:_meta|x_hello|x_list)$|^order \/result$|^bytes/,
  },
  {
    what: 'Tools may always change, also those of a server that never changes them',
    why: 'The settings of an agent change them, too',
    via: 'server',
    probe: /^handshake$/,
    path: /^\/result\/capabilities\/tools\/listChanged$/,
  },
  {
    what: 'A modern client of a legacy server gets no `tasks` of 2025-11-25: a call as a task returns its result',
    why: 'The revision 2026-07-28 replaced them by an extension',
    isTranslated: true,
    era: 'modern',
    probe: /^handshake$|as a task$/,
    path: /^\/result\/(?:capabilities\/tasks|task|content)/,
  },
  {
    what: 'A server without `serverInfo` has that of Toolroom',
    why: 'Clients require it',
    via: 'server',
    probe: /^handshake$/,
    at: /^added \/result\/(?:serverInfo|_meta)$/,
  },
  {
    what: 'A server of both eras has the `instructions` of `initialize` for modern clients, too',
    why: 'Toolroom asks it once',
    via: 'server',
    era: 'modern',
    probe: /^handshake$/,
    at: /^missing \/result\/instructions$/,
  },
  {
    what: 'A client that cannot be asked gets the refusal of Toolroom instead of that of the server',
    why: 'A shared process sees the capabilities of Toolroom',
    profile: 'plain',
    probe:
      /^tools\/call (?:sample|elicit|roots|trigger-sampling|trigger-elicitation|get-roots)|^prompts\/get test_input_required/,
    path: /^\/(?:result|error)/,
  },
  {
    what: 'An id that JavaScript cannot represent, such as `1e400`, is refused with `id: null`',
    why: 'Two of them could not be told apart',
    probe: /^id 1e400$/,
  },
]

/** @returns the entry that explains a difference, or undefined */
export const explain = (difference) => ALLOWED.find((entry) => matches(entry, difference))

function matches({ what: _, why: __, ...fields }, difference) {
  return Object.entries(fields).every(([field, wanted]) =>
    wanted instanceof RegExp ? wanted.test(String(difference[field])) : wanted === difference[field],
  )
}
