import { Modal } from '@mantine/core'
import { useState } from 'react'
import { type Entry, takeTheirs } from '../../data/agent-files.ts'
import type { Server } from '../../data/servers.ts'
import { JsonTree } from '../../parts/content/JsonTree.tsx'
import { Act } from '../../parts/controls/Act.tsx'
import { showDone, showFailure } from '../../parts/controls/toasts.tsx'
import css from './DiffersDialog.module.css'
import type { Column } from './grid-model.ts'
import { t } from './messages.ts'
import { stage } from './staged.ts'

interface Props {
  readonly server: Server
  readonly column: Column
  readonly entries: readonly Entry[]
  readonly onClose: () => void
}

/** Both versions of an entry, and which one shall hold. */
export function DiffersDialog({ server, column, entries, onClose }: Props) {
  const [busy, setBusy] = useState(false)
  const { agent } = column
  const entry = entries.find(({ differs }) => differs.length > 0)
  if (!entry) return null

  async function take(theirs: Entry): Promise<void> {
    setBusy(true)
    try {
      await takeTheirs(agent.agent_type, theirs, server.id)
      showDone(t('tookTheirs', { agent: agent.name }))
      onClose()
    } catch (error) {
      showFailure(error)
      setBusy(false)
    }
  }
  function useOurs(): void {
    stage(column, [{ server: server.id, staged: 'ours' }])
    onClose()
  }

  return (
    <Modal
      opened
      onClose={onClose}
      size={780}
      title={t('differsTitle', { server: server.name, agent: agent.name })}
    >
      <p>{t('differsText', { places: entry.differs.join(', ') })}</p>
      <div className={css.two}>
        <section aria-label={t('theirs', { agent: agent.name })}>
          <h3 className={css.title}>{t('theirs', { agent: agent.name })}</h3>
          <JsonTree value={maskedAs(definitionOf(entry), definitionOf(server))} />
          <Act size="md" changes busy={busy} onClick={() => void take(entry)}>
            {t('takeTheirs')}
          </Act>
        </section>
        <section aria-label={t('ours')}>
          <h3 className={css.title}>{t('ours')}</h3>
          <JsonTree value={maskedAs(definitionOf(server), definitionOf(entry))} />
          <Act size="md" changes onClick={useOurs}>
            {t('useOurs')}
          </Act>
        </section>
      </div>
    </Modal>
  )
}

const FIELDS = ['command', 'args', 'env', 'cwd', 'url', 'headers'] as const

/** As the service shows it: secrets are masked. */
function definitionOf(from: Entry | Server): Record<string, unknown> {
  const fields: Readonly<Record<string, unknown>> = { ...from }
  return Object.fromEntries(FIELDS.flatMap((name) => (fields[name] == null ? [] : [[name, fields[name]]])))
}

const MASK = '***'

/** What is masked in the other version is masked here, too: a reference to a secret beside a masked secret says nothing. */
function maskedAs<T>(value: T, other: unknown): T {
  if (typeof value === 'string') return (other === MASK ? MASK : value) as T
  if (Array.isArray(value))
    return value.map((each, at) => maskedAs(each, Array.isArray(other) ? other[at] : null)) as T
  if (typeof value !== 'object' || value === null) return value
  const others: Readonly<Record<string, unknown>> =
    typeof other === 'object' && other !== null ? { ...other } : {}
  return Object.fromEntries(
    Object.entries(value).map(([key, each]) => [key, maskedAs(each, others[key])]),
  ) as T
}
