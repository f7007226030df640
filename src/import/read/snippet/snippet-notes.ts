import type { Definition } from './snippet-definition.ts'
import { shown } from './snippet-error.ts'

const MAX_NOTES = 20

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

/** Notes for the user before a server is added. */
export function notesAbout(definition: Definition): string[] {
  return [...programNotes(definition), ...placeholderNotes(definition)]
}

function programNotes(definition: Definition): string[] {
  if (definition.type === 'http') return []
  const { command, args } = definition
  const notes: string[] = []
  if (/^cmd(?:\.exe)?$/i.test(command))
    notes.push('cmd exists only on Windows; on other systems, use the program after /c')
  if (args.some((arg) => /^mcp-remote(?:@|$)/.test(arg))) {
    notes.push('mcp-remote only forwards to a url; you can add that url as an HTTP server instead')
  }
  return notes
}

/** One note for each value that is a placeholder or empty. */
function placeholderNotes(definition: Definition): string[] {
  const places = [...placesOf(definition)]
  const open = places.filter(([, value]) => PLACEHOLDER.test(value))
  const notes = open.map(([label]) => `${label} contains a placeholder`)
  const empty = definition.type === 'stdio' ? Object.entries(definition.env).filter(([, v]) => v === '') : []
  notes.push(...empty.map(([key]) => `env ${shown(key)} is empty`))
  if (notes.length <= MAX_NOTES) return notes
  return [
    ...notes.slice(0, MAX_NOTES),
    `${notes.length - MAX_NOTES} more values contain a placeholder or are empty`,
  ]
}

function* placesOf(definition: Definition): Generator<readonly [label: string, value: string]> {
  if (definition.type === 'http') {
    yield ['url', definition.url]
    for (const [key, value] of Object.entries(definition.headers)) yield [`header ${shown(key)}`, value]
    return
  }
  yield ['command', definition.command]
  for (const [index, value] of definition.args.entries()) yield [`argument ${index + 1}`, value]
  for (const [key, value] of Object.entries(definition.env)) yield [`env ${shown(key)}`, value]
  if (definition.cwd !== undefined) yield ['cwd', definition.cwd]
}
