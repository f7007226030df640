import { copyFileSync, existsSync, lstatSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import * as Type from 'typebox'
import { KeyedQueue } from '../../kernel/async/keyed-queue.ts'
import { AppError } from '../../kernel/errors.ts'
import { makeFolder } from '../../kernel/files/durable-file.ts'
import { type Caller, component } from '../../kernel/rest-parts.ts'
import { closed, textOrNull } from '../../kernel/schema-fields.ts'
import { ForAgents } from '../shared/server-fields.ts'
import type { Servers } from '../stdio/servers.service.ts'

export const SampleServer = Type.Object({
  server_id: textOrNull('Null while it is not registered', { examples: ['sample'] }),
  folder: Type.String({
    description: 'Where it keeps its notes',
    examples: ['/home/me/.local/share/toolroom/sample'],
  }),
})
export type SampleServer = Type.Static<typeof SampleServer>
export const SampleInput = closed({ agents: Type.Optional(ForAgents) })
type SampleInput = Type.Static<typeof SampleInput>

component({ SampleServer }, 'The sample server, which ships with Toolroom')
component({ SampleInput }, 'Who sees the sample server', { examples: [{ agents: ['cursor'] }] })

interface Deps {
  /** The program, as the build made it. */
  readonly program: string
  readonly folder: string
  readonly servers: Pick<Servers, 'list' | 'add' | 'start' | 'remove'>
}

const NAME = 'sample'
const DESCRIPTION = 'Keeps notes in a folder of its own. Ships with Toolroom, to try things out.'
const WAIT_S = 30

/** A small server to try things out with. Its program is copied beside its notes, so that an update of Toolroom does not move it. */
export function createSample({ program, folder, servers }: Deps) {
  const copy = join(folder, 'notes-server.cjs')
  /** With those that the user has made of it. */
  const users = async () =>
    (await servers.list()).filter(({ command, args }) => command === 'node' && args[0] === copy)
  const find = async () => (await users()).find(({ id }) => id === NAME)

  /** One that is added and removed at the same time is there with its program, or gone. */
  const turns = new KeyedQueue()

  /** What another program has put there is neither written to nor deleted. */
  function refuseOther(): void {
    if (lstatSync(folder, { throwIfNoEntry: false })?.isDirectory() ?? true) return
    throw new AppError('config_unsafe', `${folder} is not a folder`, { hint: 'Move it to another place' })
  }

  async function register(agents: ForAgents | undefined, by: Caller) {
    refuseOther()
    const known = await find()
    const isNew = !existsSync(folder)
    try {
      makeFolder(folder)
      copyFileSync(program, copy) // also if it was deleted
      const isolation_options = { write: [folder] }
      if (known) return known
      return await servers.add(
        {
          name: NAME,
          command: 'node',
          args: [copy],
          description: DESCRIPTION,
          isolation_options,
          ...(agents && { agents }),
        },
        by,
      )
    } catch (error) {
      if (isNew) rmSync(folder, { recursive: true, force: true })
      throw error
    }
  }

  return {
    async view(): Promise<SampleServer> {
      return { server_id: (await find())?.id ?? null, folder }
    },

    /** Registers it unless it is there, and starts it. */
    async add({ agents }: SampleInput, by: Caller): Promise<SampleServer> {
      const { id } = await turns.take(NAME, () => register(agents, by))
      await servers.start(id, WAIT_S, by)
      return { server_id: id, folder }
    },

    /** Its notes are deleted, too, unless the user has made another server of it. */
    remove: (by: Caller): Promise<void> =>
      turns.take(NAME, async () => {
        refuseOther()
        const server = await find()
        if (server) await servers.remove(server.id, by)
        const isFree = (await users()).length === 0
        if (!server && !(isFree && existsSync(folder)))
          throw new AppError('not_found', 'There is no sample server')
        if (isFree) rmSync(folder, { recursive: true, force: true })
      }),
  }
}
export type Sample = ReturnType<typeof createSample>
