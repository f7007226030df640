import type { Answer, Context } from '../run/context.ts'
import { diffLines, type FileChange, writtenLines } from './file-change.ts'

interface Writing {
  /** A verb and its object: `Connect cursor`. */
  readonly question: string
  readonly change: (isDry: boolean) => Promise<readonly FileChange[]>
  readonly next?: string
}

/** Shows the diff, asks, and writes. Every write leaves a backup. */
export async function writeFiles(context: Context, { question, change, next }: Writing): Promise<Answer> {
  const { given, note, confirm, during } = context
  const planned = await during('Reading the files', change(true))
  if (given.is('dry-run'))
    return {
      json: { dry_run: true, items: planned },
      lines: [...planned.flatMap(diffLines), 'Nothing was written (--dry-run).'],
    }
  if (planned.some(({ changed }) => changed)) {
    if (!given.is('yes')) for (const line of planned.flatMap(diffLines)) note(line)
    await confirm(`${question}?`)
  }
  const items = await during('Writing', change(false))
  return { json: { dry_run: false, items }, lines: writtenLines(items), next }
}
