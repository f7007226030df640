import type { OrphanEnd } from '../../kernel/orphan.ts'
import type { Platform } from '../platform/platform.ts'
import { census } from './orphans.ts'

/** Ends an orphan and all its children, if it still is one. */
export async function endOrphan(
  id: string,
  { platform, mark }: { readonly platform: Platform; readonly mark: string },
): Promise<OrphanEnd> {
  const found = (await census({ table: platform.table, mark })).find(({ orphan }) => orphan.id === id)
  if (!found) return { outcome: 'gone' }
  const { orphan, tree } = found
  return { outcome: await platform.endForeign(tree), orphan }
}
