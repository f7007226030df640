/** An RFC 6570 URI template. */
export interface UriTemplate {
  /** The number of characters outside of expressions. */
  readonly literalLength: number
  /** Whether a URI may be an expansion of the template. */
  readonly matches: (uri: string) => boolean
}

/**
 * Matches one part of a template. An array has a 1 at every position of the URI that the parts so far can end at; the step
 * returns the array after one more part.
 */
type Step = (reached: Uint8Array, uri: string) => Uint8Array

const MAX_TEMPLATE_CHARS = 2048
const MAX_URI_CHARS = 4096
const MAX_EXPRESSIONS = 16
const EXPRESSION = /\{([^{}]*)\}/g
const NAME = /^[\w.%-]{1,64}(?::\d{1,4}|\*)?$/

/**
 * Undefined for an invalid or unsupported template. Matching takes linear time for each part: a regular expression for a
 * hostile template such as `{+a}{+b}{+c}x` would take exponential time.
 */
export function parseTemplate(template: string): UriTemplate | undefined {
  if (template.length > MAX_TEMPLATE_CHARS) return undefined
  const steps: Step[] = []
  let prefix: string | undefined
  let [end, literalLength] = [0, 0]
  const addLiteral = (text: string) => {
    prefix ??= text
    literalLength += text.length
    if (text) steps.push(literal(text))
  }
  for (const match of template.matchAll(EXPRESSION)) {
    const own = stepsOf(match[1] ?? '')
    if (!own || steps.length > MAX_EXPRESSIONS * 2) return undefined
    addLiteral(template.slice(end, match.index))
    steps.push(...own)
    end = match.index + match[0].length
  }
  const rest = template.slice(end)
  if (/[{}]/.test(rest)) return undefined
  addLiteral(rest)
  const start = prefix ?? ''
  return { literalLength, matches: (uri) => uri.startsWith(start) && isMatch(steps, uri) }
}

function isMatch(steps: readonly Step[], uri: string): boolean {
  if (uri.length > MAX_URI_CHARS) return false
  let reached: Uint8Array = new Uint8Array(uri.length + 1)
  reached[0] = 1
  for (const step of steps) {
    reached = step(reached, uri)
    if (!reached.includes(1)) return false
  }
  return reached[uri.length] === 1
}

function stepsOf(expression: string): Step[] | undefined {
  const operator = /^[+#./;?&]/.exec(expression)?.[0] ?? ''
  const names = expression.slice(operator.length).split(',')
  if (!names.every((name) => NAME.test(name))) return undefined
  const explodes = names.some((name) => name.endsWith('*'))
  switch (operator) {
    case '':
      return [some(SEGMENT)]
    case '+':
      return [some(ANYTHING)]
    case '#':
      return [literal('#'), some(ANYTHING)]
    case '/':
      if (explodes) return [literal('/'), some(ANYTHING)]
      return names.flatMap(() => [literal('/'), some(SEGMENT)])
    case '.':
      return names.flatMap(() => [literal('.'), some(SEGMENT)])
    default:
      return [
        pairs(
          operator,
          operator === ';' ? ';' : '&',
          explodes ? undefined : new Set(names.map(withoutModifier)),
        ),
      ]
  }
}

const SLASH = 0x2f
const SEGMENT = (code: number): boolean => code !== SLASH
const ANYTHING = (): boolean => true

const withoutModifier = (name: string): string => name.replace(/[:*].*$/, '')

function literal(text: string): Step {
  return (reached, uri) => {
    const next = new Uint8Array(reached.length)
    for (let at = uri.indexOf(text); at !== -1; at = uri.indexOf(text, at + 1))
      if (reached[at] === 1) next[at + text.length] = 1
    return next
  }
}

/** One or more characters of a kind. */
function some(isOfKind: (code: number) => boolean): Step {
  return (reached, uri) => {
    const next = new Uint8Array(reached.length)
    for (let at = 0; at < uri.length; at += 1)
      if ((reached[at] === 1 || next[at] === 1) && isOfKind(uri.charCodeAt(at))) next[at + 1] = 1
    return next
  }
}

/** `?a=1&b=2`: any subset of the names, in any order. Without `names`, any name. */
function pairs(first: string, separator: string, names: ReadonlySet<string> | undefined): Step {
  return (reached, uri) => {
    const next = reached.slice() // the pairs may be missing altogether
    const hash = uri.indexOf('#')
    const end = hash === -1 ? uri.length : hash
    for (let at = uri.indexOf(first); at !== -1 && at < end; at = uri.indexOf(first, at + 1)) {
      if (reached[at] !== 1) continue
      const given = uri.slice(at + 1, end).split(separator)
      if (given.every((pair) => !names || names.has(pair.split('=')[0] ?? ''))) next[end] = 1
    }
    return next
  }
}
