const SHELL = /(?:^|[\\/])(?:ba|z|da|k|fi|a|pw|power)?sh(?:ell)?(?:\.exe)?$/i
const SCRIPT_FLAG = /^(?:-[a-z]*c|-command)$/i

/**
 * Which arguments are scripts of a shell: the text after its `-c`, wherever the shell is called from. Such a text has a
 * syntax of its own, in which `${…}` already has a meaning, and a value inserted there would be executed.
 */
export function shellScripts(command: string, args: readonly string[]): ReadonlySet<number> {
  const scripts = new Set<number>()
  let isShell = SHELL.test(command)
  for (const [index, arg] of args.entries()) {
    if (isShell && SCRIPT_FLAG.test(arg)) {
      scripts.add(index + 1)
      isShell = false
    } else isShell ||= SHELL.test(arg)
  }
  return scripts
}
