import type { Carrier } from '../../../kernel/secrets/mask-secrets.ts'

const NPX = /(?:^|[\\/])npx(?:\.cmd)?$/
const SWITCH = /^(?:-y|--yes|-q|--quiet)$/
const PACKAGE = /^(?:@[a-z0-9][a-z0-9._-]{0,127}\/)?[a-z0-9][a-z0-9._-]{0,127}(?:@[a-z0-9][\w.-]{0,63})?$/

/** `npx -y package@version …`: the package, and the arguments of its program. Undefined for every other command. */
export function npxPackage({
  command = '',
  args = [],
}: Carrier): { readonly spec: string; readonly name: string; readonly args: readonly string[] } | undefined {
  if (!NPX.test(command)) return undefined
  const at = args.findIndex((arg) => !SWITCH.test(arg))
  const spec = args[at]
  if (spec === undefined || !PACKAGE.test(spec)) return undefined
  const version = spec.indexOf('@', 1)
  return { spec, name: version < 0 ? spec : spec.slice(0, version), args: args.slice(at + 1) }
}
