import type { LastError, SkippedScripts } from '../../kernel/server-state.ts'

/** Causes that a file which an install script would have made can have. */
const FILE_CAUSES: readonly string[] = ['module_not_found', 'command_not_found', 'file_not_found']
const MAX_NAMED = 3

/** The error of a server whose package was installed without its install scripts, if that is the cause. */
export function nativePartMissing(
  skipped: SkippedScripts | undefined,
  code: string,
  excerpt: string,
  output: readonly string[],
): LastError | undefined {
  if (!skipped || skipped.of.length === 0) return undefined
  const namedIn = (text: string) => skipped.of.find((name) => text.includes(`/node_modules/${name}/`))
  const isItsFile = FILE_CAUSES.includes(code) && (/\.node\b/.test(excerpt) || namedIn(excerpt) !== undefined)
  if (code !== 'native_module' && !isItsFile) return undefined
  const named = namedIn(excerpt) ?? namedIn(output.join('\n'))
  const names = named === undefined ? skipped.of.slice(0, MAX_NAMED) : [named]
  const whose = names.map((name) => `'${name}'`).join(' or ')
  return {
    code: 'native_part_missing',
    message: `The native part of ${whose} is missing: '${skipped.package}' was installed without install scripts`,
    hint: `Install '${skipped.package}' again with "allow_scripts": true, if you trust it`,
  }
}
