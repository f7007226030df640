/** What suggests that a value is a secret: the name before it, or the flag. */

/** Parts of names. `author`, `bypass`, `passive` and the like have another meaning. */
const PARTS = new RegExp(
  [
    'token|key|secret|passphrase|pwd|bearer|jwt|session|cookie|cred|dsn|signature',
    'auth(?!or(?!i[sz]))',
    '(?<!by|com|tres)pass(?!ive|ing|thr|age|enger)',
  ].join('|'),
  'i',
)
/** Whole words only: `path` and `design` contain them. */
const WORDS = /(?:^|[^a-z])(?:pat|sig)s?(?![a-z])/i
const WORDS_IN_CAMEL_CASE = /[a-z](?:Pat|Sig)s?(?![a-z])/

/** Whether a value with this name is a secret: `--api-key`, `DB_PASSWORD`, `githubPat`. */
export const isSecretName = (name: string): boolean =>
  PARTS.test(name) || WORDS.test(name) || WORDS_IN_CAMEL_CASE.test(name)

/** Names whose value is a secret even in prose, where `token: expired` is none. */
export const isCertainlySecret = (name: string): boolean =>
  /passw|passphrase|secret|(?:api|private|access|secret|auth)[_-]?(?:key|token)/i.test(name)

const FLAG = /^--?[\w.-]{1,256}$/
const ANOTHER_FLAG = /^--[a-z-]+$/
const WITH_USER = /^(?:-u|--(?:proxy-)?user)$/

/** Whether the argument after this flag is a secret. A user is one only with a password; `1000:1000` are numbers. */
export function isSecretAfter(flag: string, value: string): boolean {
  if (!FLAG.test(flag) || ANOTHER_FLAG.test(value)) return false
  if (WITH_USER.test(flag)) return value.includes(':') && !/^\d+:\d+$/.test(value)
  return flag === '-p' || isSecretName(flag)
}
