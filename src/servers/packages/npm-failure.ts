import type { ErrorCode } from '../../kernel/error-catalogue.ts'
import { AppError } from '../../kernel/errors.ts'

/** What explains a failure. Everything else may be gigabytes: a script of a package prints what it likes. */
export const PROBLEM = /^npm (?:error|ERR!|warn tar) /i
/** npm only warns about a file that it could not write, and reports success. */
export const UNPACKED_IN_PART = /^npm warn tar TAR_ENTRY_ERROR (?:ENOSPC|EDQUOT)\b/i

/** From the last lines of npm: `npm error code X` and a sentence, or `npm ERR!` in older versions. */
export function explainNpm(name: string, lines: readonly string[]): AppError {
  const errors = lines.flatMap((line) => /^npm (?:error|ERR!) ?(.*)$/.exec(line)?.[1] ?? [])
  const named = errors.map((line) => /^code (\S+)/.exec(line)?.[1]).find((found) => found !== undefined)
  const code = lines.some((line) => UNPACKED_IN_PART.test(line)) ? 'ENOSPC' : (named ?? '')
  const sentence = errors.find(
    (line) => line !== '' && !/^(?:code|errno|syscall|path|A complete log)\b/.test(line),
  )
  const because = sentence ?? lines.findLast((line) => line.trim() !== '') ?? 'npm wrote no output'
  const cause = CAUSES.find(([pattern]) => pattern.test(code)) ?? OTHER
  const [, kind, message, hint] = cause
  return new AppError(kind, `${message.replace('%', name)}: ${because}`, hint === undefined ? {} : { hint })
}

/** By npm's error code; `%` is replaced by the name of the package. */
type Cause = readonly [code: RegExp, kind: ErrorCode, message: string, hint?: string]

const OTHER: Cause = [
  /^/,
  'install_failed',
  "npm could not install '%'",
  "The job's output contains everything that npm wrote",
]
// biome-ignore format: a table
const CAUSES: readonly Cause[] = [
  [/^(?:ENOSPC|EDQUOT)$/, 'disk_full', "The disk is full, so '%' was not installed", 'Free some space on the disk that holds the data folder'],
  [/^E404$/, 'package_not_found', "The registry does not have '%' or one of its dependencies"],
  [/^(?:ETARGET|ENOVERSIONS)$/, 'package_not_found', "The registry does not have this version of '%'"],
  [/^(?:E401|E403|ENEEDAUTH|EOTP)$/, 'registry_refused', "The registry refused to deliver '%'", "Sign in to the registry that npm uses with 'npm login'"],
  [/^(?:ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ENETUNREACH|EHOSTUNREACH|SELF_SIGNED_CERT_IN_CHAIN|CERT_.*|UNABLE_TO_.*)$/, 'registry_unreachable', "The registry could not be reached while installing '%'", "Check the network, and npm's registry and proxy settings"],
  [/^(?:ETIMEDOUT|ERR_SOCKET_TIMEOUT|FETCH_ERROR)$/, 'registry_timeout', "The registry did not respond while installing '%'"],
  [/^(?:EINTEGRITY|TAR_.*|Z_.*)$/, 'install_failed', "The download of '%' is damaged, so it was not installed", 'Try again; if it happens again, the file in the registry is damaged'],
  [/^(?:EBADENGINE|ENOTSUP)$/, 'node_too_old', "'%' does not run on this version of Node"],
  [/^EALLOW(?:GIT|REMOTE|FILE|DIRECTORY)$/, 'install_failed', "'%' was not installed: one of its dependencies is outside of the registry", 'Toolroom installs from the registry only. Install the package yourself and add a server by its command'],
  [/^EBADPLATFORM$/, 'install_failed', "'%' does not support this operating system"],
  [/^E5\d\d$/, 'registry_failed', "The registry failed while installing '%'"],
]
