/** The result of running a server from its installed package in isolation that trials found. */
export interface Checked {
  readonly server: string
  readonly package: string
  readonly version: string
  readonly date: string
  readonly tools: number
  readonly write: readonly string[]
  readonly read: readonly string[]
  readonly network: string
  readonly calls: readonly {
    readonly tool: string
    readonly isolated: string
    readonly not_isolated: string
  }[]
  readonly refused: readonly { readonly path: string | null; readonly evidence: string }[]
  readonly lost_files: readonly string[]
  readonly failures: readonly string[]
}

const INTRODUCTION = `# Servers in the sandbox

What popular servers need in a [sandbox](running.md#isolation). This page is generated from \`docs/sandbox-checked.json\`,
which \`npm run verify:sandbox\` writes on Linux with bubblewrap and Chromium:

1. Each package is [installed](packages.md) without install scripts, and a server is added from it.
2. A [trial](running.md#isolation) runs it with \`isolation: sandbox\` and no grants, and makes the calls below.
3. As long as the trial suggests a wider isolation, they are tried, too.
   A trial also lists the files that the server wrote into its empty home: they are in memory only, and there is no error.
4. The grants are stored, the server is started with them, and its tools are compared with those that it has without isolation.
   So is the outcome of each call.

\`~/projects/<server>\` is the folder that the server was told to work in. A call that ends with *no internet* went as far as
it could on a computer that reaches no other: the sandbox refused the network first, and with \`network: full\` the call ended
like one without isolation. A server may need more for tools that were not called.
`

/** The text of docs/sandboxed-servers.md. */
export function sandboxPage(checked: readonly Checked[]): string {
  const parts = [INTRODUCTION, needs(checked), evidence(checked), homes(checked), failures(checked)]
  return `${parts
    .filter((part) => part !== '')
    .join('\n')
    .trimEnd()}\n`
}

function needs(checked: readonly Checked[]): string {
  const head = ['Server', 'Package', 'Checked', 'Tools', '`write`', '`read`', '`network`', 'Calls']
  const rows = checked.map((each) => [
    each.server,
    `${code(each.package)} ${each.version}`,
    each.date,
    String(each.tools),
    each.write.map(code).join(', ') || '–',
    each.read.map(code).join(', ') || '–',
    code(each.network),
    each.calls.map(({ tool, isolated }) => `${code(tool)}: ${isolated}`).join('<br>'),
  ])
  return section('What each of them needed', '', head, rows)
}

function evidence(checked: readonly Checked[]): string {
  const rows = checked.flatMap(({ server, refused }) =>
    refused.map(({ path, evidence: line }) => [server, path === null ? 'network' : code(path), code(line)]),
  )
  const text =
    'The line of the server that the trial took for a refusal, or a file that it found in memory only, in the order of the trials.'
  return rows.length === 0
    ? ''
    : section('What was refused first', text, ['Server', 'What', 'Evidence'], rows)
}

function homes(checked: readonly Checked[]): string {
  const rows = checked
    .filter(({ lost_files }) => lost_files.length > 0)
    .map(({ server, lost_files }) => [server, lost_files.map(code).join('<br>')])
  const text = `These servers still write files into the empty home. It is in memory, so nothing is refused, and the files are lost when the
server ends. A trial lists them, and suggests no folder for a file in the home itself, nor for caches and settings in its
hidden folders. To keep them, name their folder in \`write\`. At most 5 files of each server are shown.`
  return rows.length === 0 ? '' : section('What is lost at the end', text, ['Server', 'Files'], rows)
}

function failures(checked: readonly Checked[]): string {
  const rows = checked.flatMap(({ server, failures: own }) => own.map((text) => [server, text]))
  return rows.length === 0 ? '' : section('What did not hold', '', ['Server', 'What'], rows)
}

function section(title: string, text: string, head: readonly string[], rows: readonly string[][]): string {
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`
  const table = [line(head), line(head.map(() => '---')), ...rows.map(line)]
  return [`## ${title}`, '', ...(text === '' ? [] : [text, '']), ...table, ''].join('\n')
}

/** Text of a program may contain backticks. */
const code = (text: string): string => `\`${text.replaceAll('`', "'")}\``
