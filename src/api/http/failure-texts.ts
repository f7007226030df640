export interface Text {
  readonly happened: string
  readonly todo: string
}

/** The part of the error texts about what failed although the request is valid: statuses from 500. */
export const FAILURE_TEXTS = {
  internal_error: {
    happened: 'An unexpected error in Toolroom. The response has no details: they may contain a secret.',
    todo: 'Search the log for the `request_id`, and please report the error.',
  },
  server_start_failed: {
    happened: 'The tool server could not be started, or ended during its start.',
    todo: '`last_error` contains the cause and what to do. `stderr_tail` contains its last output.',
  },
  install_failed: {
    happened:
      'npm could not install the package, or the package or one of its dependencies is not from the registry. `detail` contains the reason.',
    todo: "The job contains npm's output. Nothing is left of the failed installation.",
  },
  update_failed: {
    happened: 'The new version did not start, so the old version stays in use.',
    todo: '`detail` contains the cause.',
  },
  registry_failed: {
    happened: 'The npm registry responded with an error or with an invalid response.',
    todo: 'Try again later, or check the registry in your npm configuration.',
  },
  registry_refused: {
    happened: 'The npm registry requires a login that your npm configuration does not have, or refuses it.',
    todo: 'Run `npm login` for the registry named in `detail`.',
  },
  registry_unreachable: {
    happened: 'The npm registry is unreachable.',
    todo: 'Check your network, and the registry and proxy in your npm configuration.',
  },
  search_unavailable: {
    happened: 'The registry in your npm configuration does not support search.',
    todo: 'Enter the exact package name.',
  },
  login_refused: {
    happened:
      'The tool server, or the issuer that its logins belong to, refuses a login. `last_error` has the reason.',
    todo: 'Follow `hint`. It usually needs a change to the server in Toolroom, or at the issuer.',
  },
  login_unavailable: {
    happened:
      'The tool server or its issuer did not answer, or answered with something else than OAuth. Nothing is forgotten.',
    todo: 'Try again. If the error remains, check whether the address in `detail` can be reached from this computer.',
  },
  call_failed: {
    happened:
      'The tool server ended during the call, closed its output, responded with a protocol error, or responded with more than 10 MiB.',
    todo: '`detail` contains the cause. An error in the tool itself is not a failed call, but a result with `isError`.',
  },
  out_of_resources: {
    happened: 'The system has no open files, processes or memory left to start a process.',
    todo: 'Stop programs that you do not need, or raise the limit. Toolroom retries the start.',
  },
  too_many_clients: {
    happened: '256 WebSocket connections are open, or 512 connections wait for their responses.',
    todo: 'Close a connection that you no longer need, and try again.',
  },
  store_busy: {
    happened: 'Another program has locked the database.',
    todo: 'Close programs that have opened `toolroom.db`, and try again after the number of seconds in Retry-After.',
  },
  store_damaged: {
    happened: 'The database can no longer be read or written.',
    todo: '`/api/health` contains the reason. Restart Toolroom: it moves a damaged file aside and names the newest backup.',
  },
  shutting_down: {
    happened: 'The service is shutting down.',
    todo: 'Try again after it has been restarted.',
  },
  start_timeout: {
    happened:
      'The tool server did not complete the MCP handshake within `timeouts.start_s`, or its next start is after the timeout of the call.',
    todo: 'Check `stderr_tail` for what it is waiting for. Raise `timeouts.start_s` if it only needs more time.',
  },
  registry_timeout: {
    happened: 'The npm registry did not respond in time.',
    todo: 'Try again. If it persists, check the registry in your npm configuration.',
  },
  call_timeout: {
    happened: 'The tool server did not respond to the call in time. The call was cancelled.',
    todo: "Over REST, send a larger `timeout_s`. For agents, raise the server's `timeouts.request_s`.",
  },
  disk_full: {
    happened: "The disk that contains the data folder, or the agent's file to be changed, is full.",
    todo: "Free some space. Reading, deleting servers, clearing logs and removing entries from agents' files still work. Writing resumes automatically.",
  },
} as const satisfies Record<string, Text>
