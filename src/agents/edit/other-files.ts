import { unifiedDiff } from '../diff/unified.ts'
import { visibleText } from '../diff/visible-text.ts'
import { rootOf } from '../files/config-target.ts'
import { stepName } from '../formats/format.ts'
import { applyToContent, backupFacts, type ChangeRequest, type FileDeps, recordKey } from './change-file.ts'
import type { OtherFileOperation } from './change-plan.ts'
import { FileEdit } from './file-edit.ts'
import { recordOf } from './ownership.ts'

/** Changes the other files in which an agent lists its disabled servers. Returns the diff. */
export async function changeOtherFiles(
  deps: FileDeps,
  request: ChangeRequest,
  operations: readonly OtherFileOperation[],
): Promise<string> {
  let diffs = ''
  for (const path of new Set(operations.map(({ file }) => file)))
    diffs += await changeOtherFile(
      deps,
      request,
      operations.filter(({ file }) => file === path),
    )
  return diffs
}

async function changeOtherFile(
  deps: FileDeps,
  request: ChangeRequest,
  operations: readonly OtherFileOperation[],
): Promise<string> {
  const [first] = operations
  if (!first) return ''
  const { target, options } = request
  const { file: path, format, dialect } = first
  const keyPath = first.path.slice(0, -1).filter((step) => typeof step === 'string')
  const names = operations.flatMap(({ path: steps }) => steps.slice(-1).map(stepName))
  const edit = new FileEdit(deps, {
    file: { path, root: rootOf(target), lock: null },
    record: () => recordOf(deps.ownership, path, keyPath),
    compute: (content, record) => {
      const edited = applyToContent({ path, format, dialect }, content, operations, record)
      return { ...edited, diff: unifiedDiff(path, content?.text ?? '', edited.text, visibleText([], names)) }
    },
    backupFacts: () => backupFacts(request, path, names),
  })
  if (options.dry_run) return edit.preview().diff
  const { next, text, trace, madeFile, diff } = await edit.write()
  const isEmpty = next === null || text.trim() === ''
  const record = { trace: isEmpty ? null : trace, made_file: madeFile, entries: {} }
  await deps.ownership.save({ ...recordKey(target, path, keyPath), ...record }, null)
  return diff
}
