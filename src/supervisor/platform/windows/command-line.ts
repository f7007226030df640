const MAX_CHARS = 32_768

/** Splits a command line as the C runtime of Windows does: backslashes count only in front of a quote, `""` is a quote. */
export function splitCommandLine(line: string): string[] {
  const args: string[] = []
  let arg: string | undefined
  let isQuoted = false
  const text = line.slice(0, MAX_CHARS)
  for (let at = 0; at < text.length; at += 1) {
    const char = text.charAt(at)
    if (!isQuoted && (char === ' ' || char === '\t')) {
      if (arg !== undefined) args.push(arg)
      arg = undefined
      continue
    }
    arg ??= ''
    let slashes = 0
    while (text[at + slashes] === '\\') slashes += 1
    if (slashes > 0 && text[at + slashes] === '"') {
      arg += '\\'.repeat(Math.floor(slashes / 2))
      at += slashes - 1
      if (slashes % 2 === 1) {
        arg += '"'
        at += 1
      }
    } else if (slashes > 0) {
      arg += '\\'.repeat(slashes)
      at += slashes - 1
    } else if (char === '"' && isQuoted && text[at + 1] === '"') {
      arg += '"'
      at += 1
    } else if (char === '"') isQuoted = !isQuoted
    else arg += char
  }
  if (arg !== undefined) args.push(arg)
  return args
}
