/** Everything that cmd.exe may treat specially outside of quotes, and the quote itself, so that there are none. */
const SPECIAL = /[()[\]{}%!^"`'<>&|;,=+~ *?\t]/g

/** Why cmd.exe cannot pass on an argument: there is no way to escape these characters. */
export class UnsafeArgument extends Error {
  override readonly name = 'UnsafeArgument'
}

/**
 * The arguments of cmd.exe that run a batch file, to be passed verbatim. The first one is the batch file. cmd.exe reads
 * the line twice: here, where a caret protects each special character, and in the batch file, where `%*` stands for the
 * arguments, and their quotes protect them. A quote inside an argument is therefore doubled: behind `\"` the batch file
 * would read the rest of the argument as commands.
 */
export function batchLine([file = '', ...args]: readonly string[]): string[] {
  for (const each of [file, ...args]) {
    if (/[\0\r\n]/.test(each))
      throw new UnsafeArgument(
        'An argument contains a line break or a NUL character, which a batch file cannot receive',
      )
  }
  const escaped = args.map((arg) => quoted(arg).replace(SPECIAL, '^$&'))
  return ['/d', '/s', '/c', `"${[`"${file}"`, ...escaped].join(' ')}"`]
}

/** As the C runtime of Windows reads it: backslashes count only in front of a quote, and `""` is a quote. */
function quoted(arg: string): string {
  return `"${arg.replace(/(\\*)("|$)/g, (_, slashes: string, quote: string) => slashes + slashes + quote + quote)}"`
}
