import { useMemo, useRef } from 'react'
import { chooseServers } from '../../data/agent-tools.ts'
import { useFoundAgents } from '../../data/agents.ts'
import { program } from '../../data/browser/program.ts'
import { remember } from '../../data/browser/undo-steps.ts'
import { type Server, useServers } from '../../data/servers.ts'
import { useSession } from '../../data/session.ts'
import { showDone, showFailure } from '../../parts/controls/toasts.tsx'
import { sortColumns } from './columns.ts'
import { type Cell, type CellAt, type Column, cellOf, columnOf, isExposed, type View } from './grid-model.ts'
import { t } from './messages.ts'
import { type AllStaged, type CellChange, stage, toggled, useStaged } from './staged.ts'

export interface Grid {
  readonly servers: readonly Server[]
  readonly columns: readonly Column[]
  readonly staged: AllStaged
  readonly cellAt: CellAt
  readonly savedCellAt: CellAt
  readonly error: Error | null
  readonly isPending: boolean
}

const NONE: readonly Server[] = []

/** Agents that followed all servers when the first one was switched off here. */
const followed = new Set<string>()

/** Everything that the page shows. Columns are all agents that were found. */
export function useGrid(view: View): Grid {
  const { servers = NONE, error, isPending } = useServers()
  const agents = useFoundAgents()
  const staged = useStaged()
  const order = useRef<readonly string[]>([])
  const columns = useMemo(() => {
    const sorted = inOrder(
      sortColumns((agents.data ?? []).map((agent) => columnOf(agent, view))),
      order.current,
    )
    order.current = sorted.map(({ agent }) => agent.agent_type)
    return sorted
  }, [agents.data, view])
  const savedCellAt = useMemo(() => cached((server, column) => cellOf(server, column, undefined)), [])
  const cellAt = useMemo(
    () =>
      cached((server, column) =>
        cellOf(server, column, staged.get(column.agent.agent_type)?.cells.get(server.id)),
      ),
    [staged],
  )
  const failed = error ?? agents.error
  const isWaiting = isPending || agents.isPending
  return useMemo(
    () => ({ servers, columns, staged, cellAt, savedCellAt, error: failed, isPending: isWaiting }),
    [servers, columns, staged, cellAt, savedCellAt, failed, isWaiting],
  )
}

/** Columns stay where they were when the page was opened, whatever is written meanwhile. New ones come last. */
function inOrder(columns: readonly Column[], order: readonly string[]): Column[] {
  const place = ({ agent }: Column) => {
    const at = order.indexOf(agent.agent_type)
    return at < 0 ? order.length : at
  }
  return columns.toSorted((a, b) => place(a) - place(b))
}

/** Servers and columns stay the same objects until they change, so a cell is computed once. */
function cached(compute: CellAt): CellAt {
  const known = new WeakMap<Server, WeakMap<Column, Cell>>()
  return (server, column) => {
    const ofServer = known.get(server) ?? new WeakMap<Column, Cell>()
    known.set(server, ofServer)
    const cell = ofServer.get(column) ?? compute(server, column)
    ofServer.set(column, cell)
    return cell
  }
}

/** What the keys and the mouse do. */
export function useToggle({ servers, cellAt, columns }: Grid) {
  const { mayChange } = useSession()

  function set(server: Server, column: Column, wanted: boolean): void {
    const cell = cellAt(server, column)
    if (cell.blocked !== null || cell.state === 'differs') return
    if ((cell.state !== 'off') === wanted) return
    if (column.via === 'gateway') offer(server, column, wanted)
    else stage(column, [{ server: server.id, staged: toggled(cell) }])
  }

  /** Applies at once. */
  function offer(server: Server, { agent }: Column, wanted: boolean): void {
    const exposed = servers.filter(isExposed).map(({ id }) => id)
    const before = agent.gateway_servers ?? null
    const chosen = (before ?? exposed).filter((id) => id !== server.id)
    const next = wanted ? [...chosen, server.id] : chosen
    // Who followed all servers before goes on doing so; a choice of all servers is not the same.
    const isAll = followed.has(agent.agent_type) && exposed.every((id) => next.includes(id))
    const isLeaving = before === null
    if (isLeaving) followed.add(agent.agent_type)
    const names = { agent: agent.name, server: server.name }
    chooseServers(agent.agent_type, isAll ? null : next).then(
      () => {
        remember(() => void chooseServers(agent.agent_type, before).catch((error) => showFailure(error)))
        showDone(
          t(wanted ? 'atOnce' : 'atOnceOff', names),
          isLeaving ? t('unfollowed', names) : t('atOnceText'),
        )
      },
      (error: unknown) => showFailure(error),
    )
  }

  return {
    reason: mayChange ? null : t('readOnly', { program }),
    toggle: (server: Server, column: Column) => {
      if (mayChange) set(server, column, cellAt(server, column).state === 'off')
    },
    /** On everywhere; if it is on everywhere already, off. Only in files, which are written together. */
    toggleRow: (server: Server) => {
      if (!mayChange) return
      const own = columns.filter(
        (column) => column.via === 'direct' && cellAt(server, column).blocked === null,
      )
      const isOn = own.every((column) => cellAt(server, column).state !== 'off')
      for (const column of own) set(server, column, !isOn)
    },
    /** The column gets the servers of another one, as one step. */
    copy: (to: Column, wanted: (server: Server) => boolean) => {
      if (to.via === 'gateway') {
        const ids = servers.filter((server) => isExposed(server) && wanted(server)).map(({ id }) => id)
        const before = to.agent.gateway_servers ?? null
        chooseServers(to.agent.agent_type, ids).then(
          () => remember(() => void chooseServers(to.agent.agent_type, before)),
          (error: unknown) => showFailure(error),
        )
        return
      }
      const changes = servers.flatMap((server): CellChange[] => {
        const cell = cellAt(server, to)
        const isSame = (cell.state !== 'off') === wanted(server)
        if (isSame || cell.blocked !== null || cell.state === 'differs') return []
        return [{ server: server.id, staged: toggled(cell) }]
      })
      if (changes.length > 0) stage(to, changes)
    },
  }
}
export type Toggle = ReturnType<typeof useToggle>
