/** Placeholders in READMEs, except references, which have notes of their own. */
const PLACEHOLDER = new RegExp(
  [
    String.raw`\$\(|(?<!\$)\{\{`, // $(pwd), {{x}}
    String.raw`(?<![\w$])\$[A-Z_][A-Z0-9_]*`,
    '%[A-Z_][A-Z0-9_]{2,60}%',
    String.raw`<[A-Za-z][\w .:|/-]{0,80}>`, // <YOUR_KEY>
    '(?<![A-Za-z])[Yy](?:our|OUR)(?:[-_ A-Z]|api|key|token|secret|pass|user|name|org)',
    '(?<![A-Za-z])YOUR(?:[-_ ]|[A-Z]{2})',
    '(?<![A-Za-z])(?:REPLACE|INSERT|ENTER|CHANGE)[-_ ]?(?:ME|THIS|WITH|YOUR|HERE)',
    String.raw`(?<![A-Za-z0-9])(?:[xX]{3,}|\*{3,})(?![A-Za-z0-9])`,
    String.raw`\.\.\.$|\u2026`,
    String.raw`(?:^|[/\\=])path[/\\]to(?:[/\\]|$)`,
    String.raw`[/\\](?:Users|home)[/\\](?:username|yourname|USERNAME)(?:[/\\]|$)`,
  ].join('|'),
)

/** Those with an end of their own. */
const ENCLOSED =
  /\$\([^()]{1,80}\)|(?<!\$)\{\{[^{}]{1,80}\}\}|(?<![\w$])\$[A-Z_][A-Z0-9_]*|%[A-Z_][A-Z0-9_]{2,60}%|<[A-Za-z][\w .:|/-]{0,80}>/g
const WORDS = /^[\w.\u2026*-]+(?: [\w.\u2026*-]+)+$/
const WORD = /[\w.\u2026*-]+/g
const PATH = /[/\\](?:to|Users|home)(?:[/\\]|$)/

export const hasPlaceholder = (text: string): boolean => PLACEHOLDER.test(text)

export const placeholderNote = (label: string): string => `${label} contains a placeholder`

/** The parts of a text that the user has to replace: `<YOUR_TOKEN>` of `Bearer <YOUR_TOKEN>`. */
export function placeholdersOf(text: string): string[] {
  if (!PLACEHOLDER.test(text)) return []
  const enclosed = text.match(ENCLOSED)
  if (enclosed) return [...new Set(enclosed)]
  const isWhole = PATH.test(text) || (WORDS.test(text) && !/^(?:Bearer|Basic|Token) /i.test(text))
  const words = isWhole ? [] : (text.match(WORD) ?? []).filter((word) => PLACEHOLDER.test(word))
  return words.length > 0 ? [...new Set(words)] : [text]
}
