import { Textarea } from '@mantine/core'
import { type FormEvent, lazy, Suspense, useMemo, useState } from 'react'
import { type HttpChange, type StdioChange, useChangeServer } from '../../../data/server/server-changes.ts'
import type { Server } from '../../../data/servers.ts'
import { useSession } from '../../../data/session.ts'
import { Act } from '../../../parts/controls/Act.tsx'
import { showDone } from '../../../parts/controls/toasts.tsx'
import { StartOutcome } from '../../../parts/repair/StartOutcome.tsx'
import { CauseStrip } from '../../../parts/states/CauseStrip.tsx'
import { FormError, fieldProblems } from '../../../parts/states/FormError.tsx'
import { useUnsaved } from '../../../url/leaving.ts'
import { useSearchState } from '../../../url/search-state.ts'
import { search } from '../search.ts'
import css from './Config.module.css'
import { changesIn, type Definition } from './changes.ts'
import { confinementIn, definitionOf, parseDefinition } from './definition.ts'
import { useDraft } from './draft.ts'
import { Fields } from './Fields.tsx'
import { t } from './messages.ts'

const TrialDialog = lazy(async () => ({ default: (await import('../trial/TrialDialog.tsx')).TrialDialog }))

/** The definition as a form and as JSON, side by side: both edit the same draft. */
export function ConfigTab({ server }: { readonly server: Server }) {
  const { mayChange } = useSession()
  const [{ trial }, setSearch] = useSearchState(search)
  const stored = useMemo(() => definitionOf(server), [server])
  const { changes, setChanges, left, forget, clear } = useDraft(server.id, stored)
  const [text, setText] = useState<string>() // the JSON while it cannot be read
  const [isStarted, setStarted] = useState(false)
  const change = useChangeServer(server)
  const draft = { ...stored, ...changes }
  const differing = changesIn(stored, draft)
  const count = Object.keys(differing).length
  const problem = text === undefined ? undefined : parseDefinition(text)
  useUnsaved(count > 0 || text !== undefined, {
    staysAt: ({ pathname, searchParams }) =>
      pathname === `/servers/${server.id}` && searchParams.get('tab') === 'config',
    onLeave: clear,
  })
  const edit = (given: Definition) => {
    setText(undefined)
    setStarted(false)
    setChanges({ ...changes, ...given })
  }
  const editJson = (next: string) => {
    const parsed = parseDefinition(next)
    setText(next)
    if (typeof parsed === 'object') setChanges(changesIn(stored, parsed))
  }
  /** What was kept is stored, so it is no change any more. */
  const closeTrial = (hasKept: boolean) => {
    setSearch({ trial: false })
    if (!hasKept) return
    const { isolation: _, isolation_options: __, ...others } = changes
    setText(undefined)
    setChanges(others)
  }
  const discard = () => {
    setText(undefined)
    clear()
    change.reset()
  }
  const willStart = ['failed', 'backoff'].includes(server.status)
  const save = (event: FormEvent) => {
    event.preventDefault()
    if (count === 0 || typeof problem === 'string') return
    change.mutate(differing as StdioChange | HttpChange, {
      onSuccess: ({ name }) => {
        showDone(t('saved', { name }))
        clear()
        setText(undefined)
        setStarted(willStart)
      },
    })
  }
  return (
    <form onSubmit={save} autoComplete="off">
      {trial && server.type === 'stdio' && (
        <Suspense fallback={null}>
          <TrialDialog server={server} confinement={confinementIn(draft)} onClose={closeTrial} />
        </Suspense>
      )}
      {left.length > 0 && (
        <CauseStrip tone="info" sentence={t('notKept')} evidence={left.join(', ')}>
          <Act size="xs" onClick={forget}>
            {t('understood')}
          </Act>
        </CauseStrip>
      )}
      <div className={css.two}>
        <section className="card" aria-label={t('form')}>
          <div className="card-head">
            <h2>{t('form')}</h2>
          </div>
          <Fields server={server} draft={draft} problems={fieldProblems(change.error)} onChange={edit} />
        </section>
        <section className="card" aria-label={t('json')}>
          <div className="card-head">
            <h2>{t('json')}</h2>
          </div>
          <div className={css.raw}>
            <Textarea
              className={css.mono ?? ''}
              aria-label={t('raw')}
              description={t('same')}
              inputWrapperOrder={['input', 'error', 'description']}
              autosize
              minRows={16}
              maxRows={40}
              spellCheck={false}
              readOnly={!mayChange}
              value={text ?? JSON.stringify(draft, null, 2)}
              error={typeof problem === 'string' ? t('invalid', { why: problem }) : undefined}
              onChange={({ currentTarget }) => editJson(currentTarget.value)}
            />
          </div>
        </section>
      </div>
      <FormError error={change.error} />
      {isStarted && <StartOutcome server={server} />}
      <div className={css.bar}>
        {count > 0 && (
          <span className="info sm" role="status">
            {t('changes', { count })}
          </span>
        )}
        {count > 0 && (
          <Act look="quiet" onClick={discard}>
            {t('discard')}
          </Act>
        )}
        <Act
          look="main"
          type="submit"
          changes
          busy={change.isPending}
          blocked={count === 0 ? t('unchanged') : undefined}
        >
          {willStart ? t('saveStart') : t('save')}
        </Act>
      </div>
    </form>
  )
}
