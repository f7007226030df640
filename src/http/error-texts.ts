import { CATALOGUE, type ErrorCode } from '../kernel/errors.ts'

interface Text {
  readonly happened: string
  readonly todo: string
}

/** What each code means to the person who meets it. `/docs/errors/<code>` and docs/errors.md are made from this. */
export const ERROR_TEXTS: Readonly<Record<ErrorCode, Text>> = {
  bad_request: {
    happened:
      'The request is not valid HTTP: a broken request line, header, body length or percent-encoding.',
    todo: 'Look at what your client sends. `%` in a path must be followed by two hexadecimal digits.',
  },
  bad_host_header: {
    happened: 'The request had no Host header, more than one, or a full URL where a path belongs.',
    todo: 'Send exactly one Host header and a path. Every common HTTP client does so by itself.',
  },
  invalid_json: {
    happened: 'The body is empty, not UTF-8, not JSON, or nested deeper than 64 levels.',
    todo: '`detail` says where reading stopped. Comments, trailing commas and NaN are not JSON.',
  },
  missing_token: {
    happened: 'The operation needs the token, and the request did not carry the header that holds it.',
    todo: 'Send the token in the header that the sentence names. The start banner says where the token is kept.',
  },
  invalid_token: {
    happened: 'The request carried a token, but not the one this service expects.',
    todo: 'Compare it with AUTH_TOKEN, or with the file `token` in the data folder. After ten wrong ones in a minute answers are slowed down.',
  },
  host_not_allowed: {
    happened:
      'The Host header names an address that is not one of this service, as it happens in a DNS rebinding attack.',
    todo: 'Use the address that was printed at the start. If you reach Toolroom under another name, list it in ALLOWED_HOSTS.',
  },
  origin_not_allowed: {
    happened: 'A web page of another origin tried to use the service.',
    todo: 'Use the pages that Toolroom serves itself, or a program that is no browser. There is no CORS, on purpose.',
  },
  cross_site: {
    happened: 'A browser said that the request was made by another web site.',
    todo: 'Type the address into the browser instead of following a link from another site.',
  },
  not_permitted: {
    happened:
      'The operating system does not let Toolroom do this, because the thing belongs to another user.',
    todo: 'Do it as the user that the sentence names, or run Toolroom as that user.',
  },
  not_found: {
    happened: 'There is nothing at this path, or nothing with this id or name.',
    todo: 'Lists show what there is; `/docs` shows every path.',
  },
  package_not_found: {
    happened:
      'No package with this name or id is installed, or the registry does not know it or that version of it.',
    todo: 'Check the spelling; the answer names similar packages when the registry knows some.',
  },
  method_not_allowed: {
    happened: 'The path exists, but not with this method.',
    todo: 'The `Allow` header of the answer names the methods that do.',
  },
  request_timeout: {
    happened: 'The request did not arrive whole in time: 15 s for the headers, 30 s for all of it.',
    todo: 'Send it again, without pauses.',
  },
  server_exists: {
    happened:
      'A tool server with this name, or with the id that would be made from it, is registered already.',
    todo: 'Choose another name, or change the existing server. STDIO and HTTP servers share their ids.',
  },
  server_not_running: {
    happened: 'The tool server does not run, so it cannot be called, or its tools have never been seen.',
    todo: 'Start it. One that starts on demand is woken by a call, unless somebody has stopped it.',
  },
  config_changed: {
    happened:
      "The agent's file is not the one you saw: `revision` names an older content, or another program keeps changing it.",
    todo: 'Read the agent again and repeat the change on what you see. Nothing was written.',
  },
  config_unparsable: {
    happened:
      "The agent's file cannot be read, or can be read in two ways, at the line and column that the answer names.",
    todo: 'Mend that place by hand, or undo the change that broke it. Toolroom does not touch such a file.',
  },
  config_read_only: {
    happened: "The agent's file, or its folder, may not be written, or an administrator manages it.",
    todo: 'Make it writable for you, or choose another scope.',
  },
  config_unsafe: {
    happened:
      "The agent's file is not one that Toolroom edits: a link that leads out of your home, a file of another user, a file with several names.",
    todo: 'Edit it by hand, or put a plain file of yours in its place.',
  },
  agent_not_installed: {
    happened: 'The agent was not found on this computer, and neither was the folder its file would go to.',
    todo: 'Install the agent first, or send `create: true` to make the folder.',
  },
  tool_held: {
    happened:
      'The definition of the tool has changed, and HOLD_CHANGED_TOOLS withholds it from agents until somebody has approved it.',
    todo: '`GET …/tools` shows what changed; `POST …/tools/{tool}/approve` lets agents use it again.',
  },
  nothing_to_approve: {
    happened: 'The tool does not wait for approval, or it has changed since the `hash` that was sent.',
    todo: '`GET …/tools` says which tools are held, what changed in them, and their `hash`.',
  },
  nothing_to_undo: {
    happened: "No change of this agent's file is remembered, or its backup is gone.",
    todo: '`GET /api/agents/{agent_type}/history` lists the changes that can be undone.',
  },
  package_in_use: {
    happened: 'Tool servers run from this package; the answer names them.',
    todo: 'Delete those servers first, or send `?force=true`.',
  },
  package_too_new: {
    happened: 'The version was published less than MIN_RELEASE_AGE_DAYS ago.',
    todo: 'Wait, name an older version, or lower that setting.',
  },
  bin_unclear: {
    happened: 'The package brings several programs, and none has its name.',
    todo: 'Say which one: `bin` in the request; the answer lists them.',
  },
  node_too_old: {
    happened: 'No version of the package runs on the Node that runs Toolroom.',
    todo: 'Start Toolroom with a newer Node, or name an older version.',
  },
  nothing_to_roll_back: {
    happened: 'No earlier version of this package is kept.',
    todo: 'Install the version you want by its number.',
  },
  job_cancelled: {
    happened: 'Somebody cancelled the job before it was done. Nothing is left of it.',
    todo: 'Ask again if you still want it.',
  },
  limit_reached: {
    happened: 'There are as many tool servers as Toolroom takes.',
    todo: 'Delete one that you no longer need.',
  },
  revision_mismatch: {
    happened:
      'Your If-Match names a revision that is no longer the newest: somebody changed the server since you read it.',
    todo: 'Read it again and repeat the change on what you see.',
  },
  body_too_large: {
    happened: 'The body is larger than 1 MiB, or than 10 MiB in a call of a tool and in `metrics/record`.',
    todo: 'Send less at once.',
  },
  config_too_large: {
    happened: "The agent's file is larger than 10 MiB.",
    todo: 'Look at what has filled it. Toolroom leaves it alone.',
  },
  url_too_long: { happened: 'The URL is longer than 8192 bytes.', todo: 'Use fewer or shorter parameters.' },
  unsupported_media_type: {
    happened: 'The body is not sent as plain JSON.',
    todo: 'Send `Content-Type: application/json`, in UTF-8, without Content-Encoding.',
  },
  invalid_input: {
    happened:
      'The request was understood, but a field or parameter is missing, unknown, too long or of the wrong kind.',
    todo: '`errors` names each one. Input is never converted: `"1"` is not `1`.',
  },
  blocked_address: {
    happened: 'The URL points to a link-local address or to the metadata service of a cloud.',
    todo: 'Register the address under which the tool server is meant to be reached.',
  },
  invalid_package_spec: {
    happened:
      'This is not the name of a package with a version or tag: paths, URLs, git addresses, aliases, ranges and options are not taken.',
    todo: 'Write it like `@scope/name`, and the version like `1.2.3` or `latest`.',
  },
  not_supported: {
    happened: 'The agent cannot do what was asked: it knows no such transport, scope or switch.',
    todo: 'The sentence says what it can do.',
  },
  config_locked: {
    happened: 'The agent itself held the lock of its file for five seconds.',
    todo: 'Try again in a moment, or close the agent.',
  },
  upgrade_required: {
    happened: 'The path is a WebSocket, and the request was a plain one.',
    todo: 'Open it with a WebSocket client.',
  },
  cardinality_limit: {
    happened:
      'The events name more different sets of server, tool, agent, name and labels than Toolroom counts. None of them was recorded.',
    todo: 'Leave out labels whose values never come again, such as ids and times. Sets that are silent for METRICS_RETENTION_DAYS make room.',
  },
  headers_too_large: {
    happened: 'The headers are larger than 16 KiB.',
    todo: 'Send fewer or shorter headers.',
  },
  internal_error: {
    happened:
      'A fault inside Toolroom that nobody foresaw. Nothing of it is shown, because it may hold a secret.',
    todo: 'Search the log for the `request_id`, and please report it.',
  },
  server_start_failed: {
    happened: 'The tool server was started, or should have been, and does not run.',
    todo: '`last_error` says why and what to do next, `stderr_tail` is what it wrote last.',
  },
  install_failed: {
    happened: 'npm could not install the package. `detail` has the reason in its own words.',
    todo: 'The job holds what npm wrote. Nothing half is left behind.',
  },
  update_failed: {
    happened: 'The new version did not start, so the old one stays in use.',
    todo: '`detail` says why it did not start.',
  },
  registry_failed: {
    happened: 'The npm registry answered with an error, or with something that is no answer.',
    todo: 'Try again later, or look at the registry that your npm is set to.',
  },
  registry_refused: {
    happened: 'The npm registry wants a login that your npm does not have, or refuses it.',
    todo: 'Log in with `npm login`, for the registry that the sentence names.',
  },
  registry_unreachable: {
    happened: 'The npm registry could not be reached.',
    todo: 'Look at your network, and at the registry and proxy that your npm is set to.',
  },
  search_unavailable: {
    happened: 'The registry that your npm uses has no search.',
    todo: 'Type the exact name of the package: that works everywhere.',
  },
  call_failed: {
    happened:
      'The tool server ended during the call, closed its output, answered with an error of the protocol, or with more than 10 MiB.',
    todo: '`detail` says which. Errors of the tool itself are no errors of the call: they come as a result with `isError`.',
  },
  out_of_resources: {
    happened: 'The system has no open files, processes or memory left to start anything.',
    todo: 'Stop what you do not need, or raise the limit. It is tried again by itself.',
  },
  too_many_clients: {
    happened: 'As many clients listen to the stream as Toolroom takes: 256.',
    todo: 'Close one that you no longer need, and try again.',
  },
  store_busy: {
    happened: 'Another program has locked the database.',
    todo: 'Close programs that have opened `toolroom.db`; then try again after the seconds in Retry-After.',
  },
  store_damaged: {
    happened: 'The database cannot be read or written any more.',
    todo: '`/api/health` names the reason. Restart Toolroom: it sets a damaged file aside and names the newest backup.',
  },
  shutting_down: {
    happened: 'The service is about to end.',
    todo: 'Try again when it has been started anew.',
  },
  start_timeout: {
    happened:
      'The tool server was started and said nothing that Toolroom understands within `timeouts.start_s`.',
    todo: '`stderr_tail` may say what it waits for. Raise `timeouts.start_s` if it only needs longer.',
  },
  registry_timeout: {
    happened: 'The npm registry did not answer in time.',
    todo: 'Try again; if it stays so, look at the registry that your npm is set to.',
  },
  call_timeout: {
    happened: 'The tool server did not answer the call in time. It was told that nobody waits any more.',
    todo: 'Send a larger `timeout_s`, or raise `timeouts.request_s` of the server.',
  },
  disk_full: {
    happened: 'The disk that holds the data folder is full.',
    todo: 'Free some space. Reading, deleting servers and clearing logs still work, and writing goes on by itself.',
  },
}

export const isErrorCode = (code: string): code is ErrorCode => Object.hasOwn(CATALOGUE, code)
