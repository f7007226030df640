import { stepName } from '../catalogue/json-value.ts'
import { unifiedDiff, visibleText } from '../diff/unified-diff.ts'

import { lockOf, rootOf } from '../files/config-target.ts'
import { type FileRecord, type OwnershipStore, recordOf } from '../files/ownership.ts'
import { applyToContent, recordKey } from './change-file.ts'
import type { OtherFileOperation } from './change-plan.ts'
import type { ChangeRequest, FileChanges, FileStep } from './file-changes.ts'

interface OtherFile {
  readonly step: FileStep
  readonly record: FileRecord
  readonly diff: string
}

/** Plans the changes of the other files in which an agent lists its disabled servers. */
export async function planOtherFiles(
  deps: { readonly changes: FileChanges; readonly ownership: OwnershipStore; readonly lockLedger: string },
  { target }: Pick<ChangeRequest, 'target'>,
  operations: readonly OtherFileOperation[],
): Promise<OtherFile[]> {
  const { changes, ownership, lockLedger } = deps
  const planned: OtherFile[] = []
  for (const path of new Set(operations.map(({ file }) => file))) {
    const ofFile = operations.filter(({ file }) => file === path)
    const [first] = ofFile
    if (!first) continue
    const { format, dialect } = first
    const keyPath = first.path.slice(0, -1).filter((step) => typeof step === 'string')
    const names = ofFile.flatMap(({ path: steps }) => steps.slice(-1).map(stepName))
    const before = recordOf(ownership, path, keyPath)
    const file = { path, root: rootOf(target), lock: lockOf(target, path, lockLedger) }
    const reading = await changes.read(file, format, before, (content) =>
      applyToContent({ path, format, dialect }, content, ofFile, before),
    )
    const { next, text, trace, madeFile: made_file } = reading.result
    const isEmpty = next === null || text.trim() === ''
    planned.push({
      step: { ...reading, names },
      record: {
        ...recordKey(target, path, keyPath),
        trace: isEmpty ? null : trace,
        made_file,
        entries: {},
      },
      diff: unifiedDiff(path, reading.content?.text ?? '', text)(visibleText('public', [], names)),
    })
  }
  return planned
}
