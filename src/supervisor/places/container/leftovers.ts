import { filterOf, isOfRun, type Labels } from './container-spec.ts'
import { type Engine, EngineError, isRecord } from './engine.ts'

/**
 * Ends the containers that earlier runs of this installation have left: a container does not end with the process that
 * started it. Returns how many there were.
 */
export async function endLeftovers(
  engine: Engine,
  { installation, run }: Pick<Labels, 'installation' | 'run'>,
): Promise<number> {
  const found = await engine.get('/containers/json', { all: 'true', filters: filterOf(installation) })
  const ids = (Array.isArray(found) ? found : []).flatMap((each: unknown) =>
    isRecord(each) && typeof each.Id === 'string' && !isOfRun(each, run) ? [each.Id] : [],
  )
  await Promise.all(ids.map((id) => removeContainer(engine, id)))
  return ids.length
}

/** Also while it is running. A container that is gone already is no error. */
export async function removeContainer(engine: Engine, id: string): Promise<void> {
  await engine.delete(`/containers/${id}`, { force: 'true', v: 'true' }).catch((error: unknown) => {
    if (!(error instanceof EngineError) || error.status !== 404) throw error
  })
}
