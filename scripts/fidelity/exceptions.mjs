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
    what: 'Errors, notifications and requests of a server are written again: `1.0` as `1`, `\\u00e9` as `é`',
    why: 'Toolroom reads them; the values are the same',
    probe: /^tools\/call .*(?: messages)?$/,
    path: /^\/error|^\/\d+\/params/,
    kind: 'spelling',
  },
]

/** Defects that are known and not mended yet. To be emptied. */
export const NOT_YET = [
  {
    what: 'definitions are written again: numbers, escapes, the order of keys',
    probe: /\/list$/,
    path: /^\/result\/(?:tools|prompts|resources|resourceTemplates)\//,
    kind: /value|spelling|order|bytes/,
  },
  {
    what: 'definitions are written again: white space',
    via: 'server',
    probe: /^tools\/list$/,
    kind: 'bytes',
  },
  {
    what: 'the tool list has no `_meta` and no unknown fields',
    via: 'server',
    probe: /^tools\/list$/,
    path: /^\/result\/(?:_meta|x_list)$/,
  },
  {
    what: 'tools depend on the capabilities of Toolroom, not of the client',
    probe: /^tools\/list$/,
    path: /^\/result\/tools(?:\/[^/]+)?$/,
  },
  { what: 'arguments are written again', probe: /raw_arguments|with numbers/, path: /^\/result/ },
  { what: 'unknown params of a call are dropped', probe: /with unknown params/, path: /^\/result/ },
  {
    what: 'a server asks a client that cannot be asked',
    probe:
      /^tools\/call (?:sample|elicit|trigger-sampling|trigger-elicitation)|^prompts\/get test_input_required/,
    path: /^\/(?:result|error)/,
    profile: 'plain',
  },
  {
    what: 'capabilities at `/mcp/{server_id}`',
    via: 'server',
    probe: /^handshake$/,
    path: /^\/result\/capabilities(?!\/logging)/,
  },
  {
    what: 'serverInfo at `/mcp/{server_id}`',
    via: 'server',
    probe: /^handshake$/,
    path: /^\/result\/(?:serverInfo|_meta\/io.modelcontextprotocol~1serverInfo)/,
  },
  {
    what: 'other fields of the handshake',
    via: 'server',
    probe: /^handshake$/,
    path: /^\/result(?:\/(?:_meta|x_hello|instructions).*)?$/,
  },
  {
    what: '`logging` in modern discover',
    era: 'modern',
    probe: /^handshake$/,
    path: /^\/result\/capabilities\/logging$/,
  },
  { what: 'tasks', probe: /^tasks\/|as a task$/, path: /^\/(?:result|error)/ },
  { what: 'vendor methods', probe: /^vendor\/|^unknown method$/, path: /^\/(?:result|error)/ },
  { what: 'roots', probe: /roots/ },
  {
    what: 'absent arguments of a call become an empty object',
    probe: / without arguments$/,
    path: /^\/(?:result|error)/,
  },
  {
    what: 'resources/unsubscribe of a server without subscriptions',
    probe: /^resources\/unsubscribe/,
  },
  { what: 'arguments that are not an object', probe: /with arguments null|with a list of arguments/ },
  { what: 'ids', probe: /^id /, path: /^\/id$/ },
  {
    what: 'numbers in errors, notifications and requests of a server',
    path: /^\/error\/data|^\/\d+\/params/,
    kind: 'value',
  },
  {
    what: 'an empty cursor',
    via: 'server',
    probe: /tools\/list with an empty cursor$/,
    path: /^\/(?:result|error)/,
  },
]

/** @returns the entry that explains a difference, or undefined */
export const explain = (difference) => [...ALLOWED, ...NOT_YET].find((entry) => matches(entry, difference))

function matches({ what: _, why: __, ...fields }, difference) {
  return Object.entries(fields).every(([field, wanted]) =>
    wanted instanceof RegExp ? wanted.test(String(difference[field])) : wanted === difference[field],
  )
}
