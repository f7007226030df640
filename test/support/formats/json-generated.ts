/** Generated JSON files, realistic and unusual ones. The same choices give the same file. */
interface Kind {
  readonly isStrict?: boolean
  /** The file contains the container twice. */
  readonly isTwice?: boolean
}

const NAMES = [
  'a',
  'b',
  '1',
  '0',
  '',
  'ü',
  '😀',
  '__proto__',
  'constructor',
  '\\u0061',
  'x y',
  '//',
  'A\\n',
  'a.b',
]
const SCALARS = [
  ...['1', '-0.50', '1e5', '1E+2', '1.0', '12345678901234567890', 'true', 'false', 'null', '""', '"text"'],
  ...[
    '"// no comment"',
    '"/* none */"',
    '"ü 😀 \\ud83d\\ude00 \\u00fc"',
    '"\\\\"',
    '"\\""',
    '"{[,:]}"',
    '"\u2028"',
  ],
]

export function generatedFile(
  choices: readonly number[],
  { isStrict = false, isTwice = false }: Kind = {},
): string {
  let used = 0
  let comments = 0
  const choose = (count: number) => (choices[used++] ?? 0) % count
  const pick = <T>(list: readonly T[]): T => list[choose(list.length)] as T

  const eols = pick([['\n'], ['\r\n'], ['\n', '\r\n'], ['\r\n', '\r\n', '\n']])
  const unit = pick(['  ', '    ', '\t', ' '])
  const layout = pick(['lines', 'lines', 'lines', 'minified', 'spaced', 'wild', 'wild'])
  const hasComments = !isStrict && choose(3) > 0
  const hasCommas = !isStrict && choose(3) === 1
  const eol = () => pick(eols)

  const comment = () => {
    comments += 1
    return pick([`/* c${comments}; */`, `// c${comments};${eol()}`, `/* c${comments}; over${eol()} lines */`])
  }
  const maybeComment = () =>
    hasComments && choose(6) === 1 ? pick([' ', '']) + comment() + pick([' ', '']) : ''
  const blank = () => pick(['', ' ', '  ', '\t', eol(), eol() + unit, ' \r ', `${eol()}${eol()}`])
  /** A comment at the end of a line, or on its own line. */
  const gap = (depth: number, kind: 'around' | 'comma' | 'colon' | 'tight') => {
    if (layout === 'wild') return blank() + maybeComment() + blank()
    if (kind === 'tight') return maybeComment()
    if (kind === 'colon') return (layout === 'minified' ? '' : ' ') + maybeComment()
    if (layout === 'minified') return maybeComment()
    if (layout === 'spaced') return `${maybeComment()} `
    const line = eol() + unit.repeat(depth)
    return (
      maybeComment() +
      (choose(12) === 1 ? pick([' ', eol()]) : '') +
      line +
      (choose(4) === 1 ? maybeComment() : '')
    )
  }
  const container = (open: string, members: readonly string[], depth: number) => {
    const close = open === '{' ? '}' : ']'
    if (members.length === 0) return open + pick(['', '', ' ', gap(depth - 1, 'around')]) + close
    const last = hasCommas && choose(2) === 1 ? `${gap(depth, 'tight')},` : ''
    const all = members.join(`${gap(depth, 'tight')},${gap(depth, 'comma')}`)
    return open + gap(depth, 'around') + all + last + gap(depth - 1, 'around') + close
  }
  const member = (name: string, value: string, depth: number) =>
    `"${name}"${gap(depth, 'tight')}:${gap(depth, 'colon')}${value}`
  const value = (depth: number): string => {
    const kind = depth > 4 ? 0 : choose(6)
    if (kind === 4) return map(depth + 1)
    return kind === 5 ? list(depth + 1) : pick(SCALARS)
  }
  const map = (depth: number): string => {
    const members = Array.from({ length: choose(4) }, () => member(pick(NAMES), value(depth), depth))
    return container('{', members, depth)
  }
  const list = (depth: number): string =>
    container(
      '[',
      Array.from({ length: choose(4) }, () => value(depth)),
      depth,
    )

  const top = () => {
    const members = Array.from({ length: choose(3) }, () => member(pick(NAMES), value(1), 1))
    const put = (name: string, made: string) =>
      void members.splice(choose(members.length + 1), 0, member(name, made, 1))
    if (choose(4) > 0 || isTwice) put('mcpServers', map(2))
    if (isTwice) put(pick(['mcpServers', 'mcp\\u0053ervers']), value(1))
    if (choose(4) === 1) put('deep', container('{', choose(2) ? [member('inner', map(3), 2)] : [], 2))
    if (choose(4) === 1) put('list', list(2))
    return container('{', members, 1)
  }
  const edge = () => maybeComment() + pick(['', eol(), ' ', eol() + eol()]) + maybeComment()
  const isEmpty = !isTwice && choose(9) === 1
  const body = edge() + (isEmpty ? '' : top()) + edge() + pick(['', eol()])
  return (!isStrict && choose(5) === 1 ? '\ufeff' : '') + body
}
