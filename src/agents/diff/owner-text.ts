import { hasKeyShape, isSecretName, MASK, maskArg } from '../../kernel/secrets/mask-secrets.ts'
import { isPath } from '../../kernel/secrets/public-command.ts'
import { isList, isMap, type Json } from '../catalogue/json-value.ts'

/** What the owner of a file sees of it besides the definitions of servers: the name of a model, file paths, comments. */
export interface OwnerText {
  /** The text of a string, with the key before it on its line and the string before it in its list. */
  readonly showsValue: (text: string, key: string | undefined, before: string | undefined) => boolean
  /** A comment with the words of it that may be shown. */
  readonly comment: (text: string) => string
}

/** For files that were parsed: `roots`. What they contain as a secret, and `values`, is hidden in the whole text. */
export function ownerText(roots: readonly Json[], values: readonly string[]): OwnerText {
  const secrets = new Set<string>()
  for (const root of [...roots, { env: values }]) collect(root, false, secrets)
  const isHidden = (text: string) => secrets.has(text)
  return {
    showsValue: (text, key, before) =>
      (isFilePath(text) || (key !== undefined && MODEL_KEY.test(key) && MODEL.test(text))) &&
      !isHidden(text) &&
      (key === undefined || !isEnvOrSecret(key)) &&
      maskArg(text, before, () => MASK) === text,
    comment: (text) => {
      const [, sign = '', words = '', end = ''] = COMMENT.exec(text) ?? []
      return sign + shownWords(words, isHidden) + end
    },
  }
}

const COMMENT = /^(#+!?|\/\/+|\/\*+)(.*?)(\*\/)?$/s
export const isComment = (token: string): boolean =>
  token[0] === '#' || token.startsWith('//') || token.startsWith('/*')

/** Maps whose values are secrets, whatever their names are. */
const SECRET_MAP = /^(?:envs?|env_?vars?|environment|(?:http_?)?headers|(?:env_)?http_headers)$/i

/** The strings at places where secrets are, and the words of them. The depth of a parsed file is limited. */
function collect(value: Json, isSecret: boolean, into: Set<string>): void {
  if (isList(value)) for (const item of value) collect(item, isSecret, into)
  else if (isMap(value))
    for (const [key, member] of Object.entries(value))
      collect(member, isSecret || SECRET_MAP.test(key) || isEnvOrSecret(key), into)
  else if (isSecret && typeof value === 'string' && value !== '')
    for (const text of [value, ...value.split(/\s+/)]) into.add(text)
}

/** `OPENAI_BASE` is a variable, so its value may be anything. */
const isEnvOrSecret = (key: string): boolean => isSecretName(key) || /^[A-Z][A-Z\d]*(?:_[A-Z\d]*)*$/.test(key)

/** A folder that systems have: a key in base64 may begin with a slash, too. */
const ROOTED =
  /^(?:~|\.{1,2}|[A-Za-z]:|\/(?:home|Users|usr|opt|etc|tmp|var|srv|mnt|root|bin|Applications|Library|Volumes|System))(?:[\\/]|$)/

const isFilePath = (text: string): boolean => text.length <= 4096 && ROOTED.test(text) && isPath(text)

const MODEL_KEY = /(?:^|[_.-])model(?:_?name|_?id)?$|Model$/
/** `gpt-5.1-codex`, `anthropic/claude-opus-4-1-20250805`, `llama3.1:70b`: short parts, of which the first begins with a letter. */
const MODEL =
  /^(?=.{2,80}$)[a-z][a-z]{0,19}\d{0,4}[a-z]{0,3}(?:[-_.:/@](?:[a-z]{1,20}\d{0,4}|\d{1,8}[a-z]{0,3})){0,12}$/i

/** Letters of one word as languages write them, a short number, a date, or a version. */
const WORD = /^\p{Lu}?\p{Ll}{1,24}$|^\p{Lu}{1,12}$|^(?:\p{Lu}?\p{Ll}{2,12}){2,3}\p{Lu}{0,3}$/u
const NUMBER = /^v?\d{1,4}(?:[.:/-]\d{1,4}){0,3}$/
const AROUND = /^[("'`[<*]*|[)"'`\]>*.,;:!?…]*$/gu
/** Longer ones are no words of a language, and would take long to look at. */
const LONGEST_WORD = 100

/** A line of code that was taken out: it has keys, and what follows them may be anything. */
const CODE = /^[\s-]{0,20}["'`{}[\](<,]|^[\s-]{0,20}[\w.$-]{1,100}\s{0,8}[=:]|[,{[]$/
const REMARK = /^\s*(?:todo|note|fixme|hint|warning|see|example|default|usage|optional|required)\s*:\s/i
/** What comes after such a word may be a secret. */
const LEADS_TO_SECRET = /^(?:envs?|environment|headers?|pin|pw)$/i

function shownWords(comment: string, isHidden: (text: string) => boolean): string {
  const body = comment.trimEnd()
  const isCode = CODE.test(body) && !REMARK.test(body)
  if (isCode || hasKeyShape(body) || /\b(?:Bearer|Basic)\s/i.test(body)) return ` ${MASK}`
  const shown: string[] = []
  for (const word of comment.split(/(?<=\s)(?=\S)/)) {
    const text = word.trim()
    if (text.length > LONGEST_WORD && !isFilePath(text)) {
      shown.push(word.replace(text, MASK))
      continue
    }
    const inner = text.replace(AROUND, '')
    if (isSecretName(text) || LEADS_TO_SECRET.test(inner)) {
      // The word itself is shown if nothing is attached to it, and nothing after it.
      shown.push(WORD.test(inner) ? `${text} ${MASK}` : MASK)
      break
    }
    const isShown =
      !isHidden(inner) && !isHidden(text) && (isPlain(inner) || /^[-–—+&=>|#*]{1,8}$/.test(text))
    shown.push(isShown ? word : word.replace(text, MASK))
  }
  return shown.join('').replace(/\*{3}(?:\s+\*{3})+/g, MASK)
}

const isPlain = (word: string): boolean =>
  word === '' || NUMBER.test(word) || isFilePath(word) || word.split(/[-'’]/).every((part) => WORD.test(part))
