import { CATALOGUE, type ErrorCode } from '../../kernel/error-catalogue.ts'
import { FAILURE_TEXTS, type Text } from './failure-texts.ts'

/** What each code means, and what to do. The source of `/docs/errors/<code>` and docs/errors.md. */
export const ERROR_TEXTS: Readonly<Record<ErrorCode, Text>> = {
  bad_request: {
    happened: 'The request is not valid HTTP: a malformed request line, header, length or percent-encoding.',
    todo: 'Check what your client sends. `%` in a path must be followed by two hexadecimal digits.',
  },
  bad_host_header: {
    happened: 'The request has no Host header, more than one, or a full URL instead of a path.',
    todo: 'Send exactly one Host header and a path, as every common HTTP client does.',
  },
  invalid_json: {
    happened: 'The body is empty, not UTF-8, not JSON, or nested deeper than 64 levels.',
    todo: '`detail` contains the position of the error. Comments, trailing commas and NaN are not JSON.',
  },
  missing_token: {
    happened: 'The operation requires the token, and the request has no header with it.',
    todo: 'Send the token in the header named in `detail`. The start message names the file that contains the token.',
  },
  invalid_token: {
    happened: 'The token in the request is wrong.',
    todo: 'Compare it with AUTH_TOKEN, or with the file `token` in the data folder. After ten wrong tokens within a minute, responses are delayed.',
  },
  code_expired: {
    happened: 'The login code has expired: it lives for 60 s, and in a printed link for 10 minutes.',
    todo: 'Create a new code with `POST /api/login-codes`, or run `toolroom open` again.',
  },
  code_spent: {
    happened: 'The login code is unknown, or was used already.',
    todo: 'Create a new code with `POST /api/login-codes`. After ten wrong codes within a minute, responses are delayed.',
  },
  host_not_allowed: {
    happened: "The Host header is not one of this service's addresses. DNS rebinding attacks look like this.",
    todo: 'Use the address that was printed at the start. If you use another name for Toolroom, add it to ALLOWED_HOSTS.',
  },
  origin_not_allowed: {
    happened: 'A web page from another origin tried to use the service.',
    todo: "Use Toolroom's own pages, or a client that is not a browser. CORS is deliberately not supported.",
  },
  cross_site: {
    happened: 'The browser reports that another web site made the request.',
    todo: 'Enter the address in the browser instead of following a link from another site.',
  },
  not_permitted: {
    happened: 'The system does not permit this, because the process or file belongs to another user.',
    todo: 'Do it as the user named in `detail`, or run Toolroom as that user.',
  },
  not_found: {
    happened: 'The path does not exist, or there is no item with this id or name.',
    todo: 'Check the list for existing items, and `/docs` for all paths.',
  },
  package_not_found: {
    happened:
      'No package with this name or id is installed, a tool server needs a package that is not installed, or the registry does not have the package or this version.',
    todo: 'Check the spelling. The response names similar packages if the registry has any. Install the package that a tool server needs.',
  },
  method_not_allowed: {
    happened: 'The path exists, but not with this method.',
    todo: 'The `Allow` header of the response lists the supported methods.',
  },
  request_timeout: {
    happened: 'The request was not received completely in time: 15 s for the headers, 30 s in total.',
    todo: 'Send it again without pauses.',
  },
  server_exists: {
    happened: 'A tool server with this name, or with the id derived from it, already exists.',
    todo: 'Choose another name, or change the existing server. STDIO and HTTP servers share one set of ids.',
  },
  server_not_running: {
    happened: 'The tool server is not running, so it cannot be called, or its tools are not known yet.',
    todo: 'Start it. A call starts an on-demand server, unless it was stopped by a user.',
  },
  server_stopped: {
    happened:
      'A person stopped the tool server, or it is started by hand (`start_mode: "manual"`) and has not been started yet. Calls do not start it, and the gateway does not offer its tools.',
    todo: 'Start it with `POST /api/servers/{id}/start`.',
  },
  login_needed: {
    happened: 'The tool server requires a login, and there is none, or it has expired.',
    todo: 'Open `start_url` in a browser, or run `toolroom login` with the name of the server. Then call again.',
  },
  login_not_possible: {
    happened: 'The tool server does not use a login: `detail` says what is used instead.',
    todo: 'Follow `hint`.',
  },
  login_unknown: {
    happened:
      'The address does not belong to a pending login: it was used already, is older than 10 minutes, or is of another server.',
    todo: 'Start the login again. Each login has an address of its own, which works once.',
  },
  config_changed: {
    happened:
      "The agent's file has changed: `revision` is outdated, another program keeps changing the file, or the file is empty although it had content before.",
    todo: 'Read the agent again and repeat the change. Nothing was written. An empty file is accepted 10 s after its last modification.',
  },
  config_unparsable: {
    happened: "The agent's file cannot be parsed, or is ambiguous, at the line and column in the response.",
    todo: 'Correct the file at that position, or undo the change that broke it. Toolroom does not write to such a file.',
  },
  config_read_only: {
    happened: "The agent's file or its folder is not writable, or an administrator manages it.",
    todo: 'Make it writable for your user, or choose another scope.',
  },
  config_unsafe: {
    happened:
      'Toolroom does not edit this file: it is a symbolic link that points outside your home folder, belongs to another user, or has several hard links.',
    todo: 'Edit it by hand, or replace it with a regular file of your own.',
  },
  outgoing_not_allowed: {
    happened:
      'The server was made from text that others have written, such as a snippet or a file of a repository, and refers to variables of Toolroom or to named secrets. No person has allowed that it gets their values.',
    todo: 'Read `outgoing` of the server: each value, its place, and the host or program that gets it. If you trust it, send these items as `allow_outgoing` in a change of the server, or run `toolroom allow SERVER`. For a trial, send `allow_outgoing` with it.',
  },
  entry_not_approved: {
    happened: 'The entry is in a file of a repository, and its agent has not been allowed to start it.',
    todo: 'Look at its command. If you trust it, allow it in the agent, or send `unapproved`.',
  },
  agent_not_installed: {
    happened: 'The agent is not installed on this computer, and the folder for its file does not exist.',
    todo: 'Install the agent first, or send `create: true` to create the folder.',
  },
  tool_held: {
    happened:
      'The tool is new, or its definition has changed. With HOLD_CHANGED_TOOLS, agents cannot use it until you approve it.',
    todo: '`GET …/tools` shows the changes. `POST …/tools/{tool}/approve` makes the tool available.',
  },
  prompt_held: {
    happened:
      'The prompt is new, or its definition has changed. With HOLD_CHANGED_TOOLS, agents cannot use it until you approve it.',
    todo: '`GET …/prompts` shows the changes. `POST …/prompts/{prompt}/approve` makes the prompt available.',
  },
  nothing_to_approve: {
    happened:
      'The tool, the prompt or the instructions are not waiting for approval, or have changed again since the `hash` in the request.',
    todo: '`GET …/tools`, `GET …/prompts` and `GET …/instructions` show what is held, with its changes and its `hash`.',
  },
  nothing_to_undo: {
    happened: "There is no recorded change to this agent's file, or its backup no longer exists.",
    todo: '`GET /api/agents/{agent_type}/history` lists the changes that can be undone.',
  },
  package_in_use: {
    happened: 'Tool servers use this package. The response names them.',
    todo: 'Delete those servers first, or send `?force=true`.',
  },
  secret_in_use: {
    happened: 'Tool servers refer to this secret. The response names them.',
    todo: 'Change those servers first, or send `?force=true`. They do not start while the secret is missing.',
  },
  package_too_new: {
    happened: 'The version was published less than MIN_RELEASE_AGE_DAYS ago.',
    todo: 'Wait, choose an older version, or lower that setting.',
  },
  bin_unclear: {
    happened: 'The package has several programs, and none has the name of the package.',
    todo: 'Set `bin` in the request. The response lists the programs.',
  },
  node_too_old: {
    happened: 'The version of the package does not support the Node.js version that runs Toolroom.',
    todo: 'Run Toolroom with a Node.js version that the package supports, or choose another version of the package.',
  },
  nothing_to_roll_back: {
    happened: 'No earlier version of this package is kept.',
    todo: 'Install the version by its number.',
  },
  image_not_found: {
    happened: 'The image registry does not have this image, or does not show it without a login.',
    todo: 'Check the name and the tag. Log in and pull a private image with `docker` or `podman`.',
  },
  image_login_needed: {
    happened: 'The image registry requires a login. Toolroom sends none.',
    todo: 'Run `docker login` and `docker pull`, or the same with `podman`, in a terminal.',
  },
  image_pull_failed: {
    happened: 'The container engine could not download the image. `detail` has its words.',
    todo: 'Try again later, or pull the image with `docker` or `podman` in a terminal.',
  },
  engine_unavailable: {
    happened: 'There is no container engine, it does not answer, or it refuses your user.',
    todo: 'Follow `hint`. `GET /api/isolation` shows whether it works now.',
  },
  job_cancelled: {
    happened: 'The job was cancelled before it was done. It has left nothing behind.',
    todo: 'Send the request again if you still need it.',
  },
  job_not_waiting: {
    happened: 'The job does not wait to be continued: it is queued, at work, or has finished.',
    todo: '`GET /api/jobs/{id}` shows its phase. Only an update with `hold=true` waits, in the phase `waiting`.',
  },
  set_elsewhere: {
    happened: 'A flag, a variable or an `.env` file sets this value, and takes precedence over config.json.',
    todo: 'Change it in the place that `detail` names, or remove it there. Then restart Toolroom.',
  },
  payload_incomplete: {
    happened:
      'The arguments of this call are not kept, or only without the secrets or the end of them, so the call cannot be repeated as it was.',
    todo: 'Send the arguments in the body.',
  },
  limit_reached: {
    happened: 'The maximum number of tool servers or gateway keys is reached.',
    todo: 'Delete one that you no longer need.',
  },
  revision_mismatch: {
    happened: 'The revision in If-Match is outdated: the server has changed since you read it.',
    todo: 'Read it again and repeat the change.',
  },
  body_too_large: {
    happened:
      'The body has over 50,000 values, or is larger than 1 MiB (10 MiB for a tool call, `metrics/record` or an import).',
    todo: 'Send less data per request.',
  },
  config_too_large: {
    happened: "The agent's file is over 10 MiB (TOML: 1 MiB, YAML: 256 KiB), or has over 1,000 servers.",
    todo: 'Check why the file is so large. Toolroom neither reads it nor writes to it.',
  },
  url_too_long: { happened: 'The URL is longer than 8192 bytes.', todo: 'Use fewer or shorter parameters.' },
  unsupported_media_type: {
    happened: 'The body is not plain JSON.',
    todo: 'Send `Content-Type: application/json` in UTF-8, without Content-Encoding.',
  },
  invalid_input: {
    happened: 'A field or parameter is missing, unknown, too long or of the wrong type.',
    todo: '`errors` lists each one. Input is never converted: `"1"` is not `1`.',
  },
  wrong_passphrase: {
    happened:
      'The passphrase does not open the secrets of the exported file, or the file was changed since it was exported.',
    todo: 'Check the passphrase, and use the file as it was exported. Nothing was imported.',
  },
  blocked_address: {
    happened: "The URL points to a link-local address or to a cloud provider's metadata service.",
    todo: 'Use the regular address of the tool server.',
  },
  invalid_package_spec: {
    happened:
      'This is not a package name with a version or tag. Paths, URLs, git addresses, aliases, ranges and options are not supported.',
    todo: 'Write the name like `@scope/name`, and the version like `1.2.3` or `latest`.',
  },
  server_isolated: {
    happened: 'The server is isolated, and the agent would start its bare command without the isolation.',
    todo: 'Connect the agent to the gateway, or set the isolation of the server to `none`.',
  },
  not_supported: {
    happened: 'The agent does not support this transport, scope or switch.',
    todo: '`detail` says what it supports.',
  },
  config_locked: {
    happened: 'The agent has held the lock on its file for five seconds.',
    todo: 'Try again in a moment, or close the agent.',
  },
  upgrade_required: {
    happened: 'The path is a WebSocket endpoint, and the request is not an upgrade.',
    todo: 'Open it with a WebSocket client.',
  },
  cardinality_limit: {
    happened:
      'The events contain more combinations of server, tool, agent, name and labels than Toolroom can count. None of them was recorded.',
    todo: 'Omit labels with unique values, such as ids and times. Combinations without events for METRICS_RETENTION_DAYS are removed.',
  },
  headers_too_large: {
    happened: 'The headers are larger than 16 KiB.',
    todo: 'Send fewer or shorter headers.',
  },
  ...FAILURE_TEXTS,
}

export const isErrorCode = (code: string): code is ErrorCode => Object.hasOwn(CATALOGUE, code)
