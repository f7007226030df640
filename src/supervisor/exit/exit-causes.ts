import type { RepairAction } from '../../kernel/repair-action.ts'
import * as hints from './exit-hints.ts'

export interface Cause {
  readonly code: string
  /** One of them must match the excerpt. All must run in linear time. */
  readonly when: readonly RegExp[]
  readonly hint: (match: RegExpExecArray, started: hints.Started) => string
  /** What the hint says, as data. */
  readonly action: RepairAction | ((match: RegExpExecArray, started: hints.Started) => RepairAction)
}

const SEE_LOG: RepairAction = { kind: 'see_log' }
const START: RepairAction = { kind: 'start' }
const COMMAND: RepairAction = { kind: 'edit_command' }
const ARGUMENTS: RepairAction = { kind: 'edit_arguments' }
const VARIABLES: RepairAction = { kind: 'edit_variables', name: null }

/** The first match is the cause. Certain causes come before likely ones, special before general ones. */
export const CAUSES: readonly Cause[] = [
  {
    code: 'out_of_memory',
    when: [/JavaScript heap out of memory/],
    hint: () => 'Allow more memory: set NODE_OPTIONS to --max-old-space-size=4096 in env',
    action: { kind: 'set_variable', name: 'NODE_OPTIONS' },
  },
  {
    code: 'out_of_memory',
    when: [
      /\bMemoryError\b|\bENOMEM\b|Cannot allocate memory|\bbad_alloc\b|memory allocation of \d+ bytes failed/,
      /fatal error: runtime: out of memory|java\.lang\.OutOfMemoryError/,
    ],
    hint: () => 'Free memory on this computer, or reduce what the server loads, then start it again',
    action: START,
  },
  {
    code: 'too_many_files',
    when: [/System limit for number of file watchers/],
    hint: () => 'Raise fs.inotify.max_user_watches, the limit for watched files',
    action: START,
  },
  {
    code: 'too_many_files',
    when: [/\bEMFILE\b|\bENFILE\b|too many open files/i],
    hint: () => 'Raise the limit for open files (ulimit -n), or use a smaller folder',
    action: START,
  },
  {
    code: 'disk_full',
    when: [/\bENOSPC\b|no space left on device|\bEDQUOT\b|disk quota exceeded/i],
    hint: () => 'Free disk space, then start it again',
    action: START,
  },
  {
    code: 'docker_unavailable',
    when: [/permission denied while trying to connect to the docker/i],
    hint: () =>
      'Give your user access to Docker, for example by adding it to the docker group, then log out and in again',
    action: START,
  },
  {
    code: 'docker_unavailable',
    when: [/Cannot connect to the Docker daemon|docker daemon is not running|error during connect: /i],
    hint: () => 'Start Docker, then start the server again',
    action: { kind: 'start_docker' },
  },
  {
    code: 'image_not_found',
    when: [/pull access denied for|manifest unknown|manifest for \S{1,300} not found|No such image: /],
    hint: () => 'Check the image name in args, build the image, or run docker login if it is private',
    action: ARGUMENTS,
  },
  {
    code: 'native_module',
    when: [
      /ERR_DLOPEN_FAILED|NODE_MODULE_VERSION|different Node\.js version|Could not locate the bindings file/,
      /invalid ELF header|GLIBC(?:XX)?_[\d.]{1,10}' not found|gyp ERR! |incompatible architecture/,
      /No native build was found for platform|Failed to load native module|Could not load the "[^"]{1,100}" module using/,
      /cannot open shared object file|^→ \S{1,1500}\.node$|No prebuilt binaries found/,
      /Cannot find (?:module|package) '[^']{1,200}-(?:linux|darwin|win32)-(?:x64|arm64)/,
    ],
    hint: hints.nativeHint,
    action: SEE_LOG,
  },
  {
    code: 'node_too_old',
    when: [/Unknown file extension "\.[cm]?tsx?"/],
    hint: () => 'Run the compiled JavaScript, or use Node.js 22.18 or newer, which supports TypeScript',
    action: COMMAND,
  },
  {
    code: 'node_too_old',
    when: [/\bbad option: (-\S{1,100})/, /(-\S{1,100}) is not allowed in NODE_OPTIONS/],
    hint: ([, option]) => `Use a newer Node.js, or remove ${option} from args and NODE_OPTIONS`,
    action: ARGUMENTS,
  },
  {
    code: 'node_too_old',
    when: [
      /code EBADENGINE|Unsupported engine|requires? Node(?:\.js)? ?(?:version )?(?:>|v?\d)/i,
      /SyntaxError: Unexpected token '(?:\?\?=?|\|\|=|&&=|\?\.?|\.|with)'|SyntaxError: Unexpected reserved word/,
      /ERR_UNKNOWN_BUILTIN_MODULE|The requested module 'node:[\w/]{1,40}' does not provide|ERR_REQUIRE_ESM/,
      /ReferenceError: (?:fetch|File|FormData|Headers|WebSocket|CustomEvent|structuredClone|ReadableStream|crypto) is not defined/,
      /(?:withResolvers|fromAsync|toSorted|toReversed|findLast|groupBy|hasOwn|replaceAll) is not a function/,
    ],
    hint: () => 'Use a newer Node.js: set command to the full path of its node or npx',
    action: COMMAND,
  },
  {
    code: 'package_not_found',
    when: [
      /code E404\b/,
      /code ETARGET\b/,
      /\b([\w.@/-]{1,200}) was not found in the (?:package registry|provided package locations)/,
      /there (?:is|are) no versions? of ([\w.-]{1,200})/,
      /No matching distribution found for ([\w.-]{1,200})|Could not find a version that satisfies/,
    ],
    hint: hints.packageHint,
    action: ARGUMENTS,
  },
  {
    code: 'registry_refused',
    when: [/npm (?:error|ERR!) code (?:E401|E403|ENEEDAUTH|EOTP)\b/],
    hint: () => 'Run npm login, or correct the npm registry token in .npmrc',
    action: START,
  },
  {
    code: 'registry_unreachable',
    when: [
      /npm (?:error|ERR!) code (?:ENOTFOUND|ETIMEDOUT|ECONNREFUSED|ECONNRESET|EAI_AGAIN|ENETUNREACH|EHOSTUNREACH)\b/,
      /npm (?:error|ERR!) code (?:ENOTCACHED|ERR_SOCKET_TIMEOUT|E5\d\d|\w{0,40}CERT\w{0,40}|UNABLE_TO_\w{1,40})\b/,
      /error sending request for url|Failed to fetch: `|Could not connect, are you offline/,
    ],
    hint: () => 'Check the network, the proxy and the package registry, then start it again',
    action: START,
  },
  {
    code: 'no_executable',
    when: [/could not determine executable to run|executable named `?\S{1,100} is not provided by package/],
    hint: () => 'Check the package in args: it has no program with that name, or is a library',
    action: ARGUMENTS,
  },
  {
    code: 'needs_install',
    when: [
      /npx canceled due to missing packages|Need to install the following packages|Ok to proceed\? \(y\)/,
    ],
    hint: () => 'Add -y before the package in args to let npx install it',
    action: ARGUMENTS,
  },
  {
    code: 'bad_arguments',
    when: [/Missing script: "?([^"]{1,100})/],
    hint: ([, script]) =>
      `Check ${script} in args, or set cwd to the folder whose package.json has this script`,
    action: ARGUMENTS,
  },
  {
    code: 'port_in_use',
    when: [/\bEADDRINUSE\b|address already in use|\bport \d{2,5} is (?:already )?(?:in use|taken)/i],
    hint: hints.portHint,
    action: START,
  },
  {
    code: 'permission_denied',
    when: [/listen EACCES: permission denied \S{0,100}:(\d{1,5})/],
    hint: ([, port]) => `Use a port above 1023: port ${port} is reserved for the system`,
    action: ARGUMENTS,
  },
  {
    code: 'module_not_found',
    when: [/Cannot find (?:module|package) '([^']{1,500})'/, /ERR_MODULE_NOT_FOUND/],
    hint: hints.moduleHint,
    action: hints.moduleAction,
  },
  {
    code: 'module_not_found',
    when: [/No module named '?([\w.]{1,200})/],
    hint: hints.pythonModuleHint,
    action: (match, started) => (hints.isModuleInArgs(match, started) ? ARGUMENTS : SEE_LOG),
  },
  {
    code: 'not_executable',
    when: [/\b(?:ba|z|k|da)?sh: (?:(?:line )?\d{1,5}: )?(?:exec: )?(\S{1,300}): Permission denied/],
    hint: ([, file]) => `Run: chmod +x '${file}', or set command to its interpreter`,
    action: COMMAND,
  },
  {
    code: 'command_not_found',
    when: [
      /\b(?:ba|z|k|da)?sh: (?:line )?\d{1,5}: (?:exec: )?(\S{1,200}): (?:command )?not found/,
      /\bsh:(?:\d{1,5}:)? command not found: (\S{1,200})|^(\S{1,200}): command not found/,
      /\b(?:env:|failed to run command) ['‘]?([^'’:]{1,200})['’]?: No such file/,
      /\bspawn (\S{1,300}) ENOENT/,
      /exec: "([^"]{1,200})": executable file not found/,
      /^'([^']{1,200})' is not recognized as an internal or external command/,
    ],
    hint: hints.commandHint,
    action: hints.commandAction,
  },
  {
    code: 'file_not_found',
    when: [
      /\bENOENT: no such file or directory, \w{1,20} '([^']{1,500})'/,
      /can't open file '([^']{1,500})'|No such file or directory: '([^']{1,500})'/,
      /cannot open (\S{1,500}): No such file|sh: (\S{1,500}): No such file or directory/,
      /Unable to access jarfile (\S{1,500})|bind source path does not exist: (\S{1,500})/,
      /\bENOENT\b|No such file or directory|None of the specified directories are accessible/,
    ],
    hint: hints.fileHint,
    action: hints.fileAction,
  },
  {
    code: 'permission_denied',
    when: [
      /\b(?:EACCES|EPERM): [\w ]{1,40}, \w{1,20} '([^']{1,500})'/,
      /Permission(?:Error|Denied)?[^']{0,60}denied: '([^']{1,500})'/i,
      /\bcode (?:EACCES|EPERM)\b.{0,100}? path (\S{1,500})/,
      /\bEACCES\b|\bEPERM\b|permission denied|operation not permitted/i,
    ],
    hint: hints.permissionHint,
    action: hints.permissionAction,
  },
  {
    code: 'bad_arguments',
    when: [
      /error: (?:missing required argument|required option|unknown option|unknown command|too many arguments)/i,
      /(?:Missing|Unknown|Not enough|unrecognized|unexpected)(?: \S{1,20}){0,2} (?:arguments?|options?|flag)\b/i,
      /the following (?:required )?arguments (?:are|were)|unknown (?:shorthand )?(?:flag|command): /,
      /requires (?:at least|exactly) \d{1,3} argument/,
    ],
    hint: () => 'Check args: run the command with --help',
    action: ARGUMENTS,
  },
  {
    code: 'missing_setting',
    when: [
      /\b(?:environment variables?|env vars?)\b.{0,80}\b(?:required|missing|undefined|empty|unset|must be|not (?:set|found|defined|provided))\b/i,
      /\b(?:missing|requires?d?|needs?|set|provide|specify|define)\b.{0,80}\b(?:environment variables?|env vars?)\b/i,
      /\b(?!ERR_)[A-Z][A-Z0-9]{0,40}_[A-Z0-9_]{1,80}['"`]?(?: \w{1,20}){0,2} (?:required|missing|undefined|empty|(?:not|isn't|must be|to be) (?:set|found|defined|provided|configured|specified))\b/,
      /\b[A-Z][A-Z0-9]{2,40}['"`]? (?:is|was|must be|isn't)(?: not)? (?:set|required|missing|undefined|defined|provided)\b/,
      /(?:\b[Mm]issing|[Pp]lease (?:set|provide|specify)|\b[Mm]ust (?:set|provide)|^KeyError:).{0,60}\b(?!ERR_)[A-Z][A-Z0-9]{1,40}_[A-Z0-9_]{1,80}\b/,
      /Field required \[type=missing|received undefined|message: 'Required'|: NotPresent\b/,
      /\b(?:api[ _-]?key|token|credentials?|password|secret) (?:(?:is|are|was|must be) )?(?:required|missing|undefined|not (?:set|found|provided|configured|specified))\b/i,
      /\b(?:missing|no) (?:\w{1,30} ){0,3}(?:api[ _-]?key|token|credentials?)\b/i,
    ],
    hint: hints.settingHint,
    action: hints.settingAction,
  },
  {
    code: 'credentials_refused',
    when: [
      /\b401\b.{0,40}\bUnauthori[sz]ed|\bUnauthori[sz]ed\b|\bstatus(?: code)?:? 401\b|\bHTTP\S{0,5} 401\b|\b401 \{/i,
      /\b(?:invalid|incorrect|wrong|expired|revoked)(?: \w{1,20})? (?:x-)?(?:api[ _-]?key|token|credentials?|password)\b/i,
      /bad credentials|authentication[ _](?:failed|error)|invalid_auth\b|invalid_grant|invalid_api_key/i,
      /password authentication failed|Access denied for user/,
    ],
    hint: () => 'Check the key or token in env and args: the service refused it',
    action: VARIABLES,
  },
  {
    code: 'missing_setting',
    when: [/\bplease (?:provide|set|specify|supply|configure)\b/i],
    hint: hints.settingHint,
    action: hints.settingAction,
  },
  {
    code: 'invalid_setting',
    when: [
      /SyntaxError: .{0,200}\bJSON\b|JSONDecodeError|TOMLDecodeError|YAMLException/,
      /\bZodError\b|\bvalidation errors? for /,
    ],
    hint: () =>
      'Correct the value that could not be parsed: a variable in env, or a file named in args or env',
    action: VARIABLES,
  },
  {
    code: 'host_unreachable',
    when: [
      /\b(?:ECONNREFUSED|ENOTFOUND|ETIMEDOUT|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|ECONNRESET) ([\w.:[\]-]{1,200})/,
      /Name or service not known|Could not resolve host: (\S{1,200})|connection refused/i,
    ],
    hint: ([, host = 'the service it connects to']) =>
      `Check that ${host} is running and reachable from this computer`,
    action: hints.hostAction,
  },
]
