import { Checkbox, Radio } from '@mantine/core'
import { useState } from 'react'
import { useAgents } from '../../data/agents.ts'
import { type ImportItem, importServers, useImportable } from '../../data/first-run/first-run.ts'
import { stopTrying, type Trial, tryEach, useTrials } from '../../data/first-run/trials.ts'
import { useShort } from '../../data/live/home-folder.ts'
import { type Server, useServers } from '../../data/servers.ts'
import { VariantStrip } from '../../parts/content/VariantStrip.tsx'
import { Act } from '../../parts/controls/Act.tsx'
import { showFailure } from '../../parts/controls/toasts.tsx'
import { Glyph } from '../../parts/marks/Glyph.tsx'
import { StatusText } from '../../parts/marks/StatusText.tsx'
import { Monogram, Tag } from '../../parts/marks/Tag.tsx'
import { OutgoingList } from '../../parts/server/OutgoingList.tsx'
import { ErrorState } from '../../parts/states/ErrorState.tsx'
import { Skeleton } from '../../parts/states/Skeleton.tsx'
import { t } from './messages.ts'
import { type Welcome, without } from './state.ts'
import { TrialReason, TrialState } from './TrialState.tsx'
import css from './Welcome.module.css'

/** Step 2: which servers Toolroom shall look after. */
export function Choose({ welcome: { used = [], state, set, go } }: { readonly welcome: Welcome }) {
  const { data, error } = useImportable(used)
  const { servers = [] } = useServers()
  const trials = useTrials()
  const [busy, setBusy] = useState(false)
  const items = data ?? []
  const count = items.filter(({ outcome }) => outcome !== 'refused').length
  const isPicked = (item: ImportItem) =>
    isUsual(item) ? !state.noServers.includes(item.name) : state.alsoServers.includes(item.name)
  const chosen = items.filter((item) => item.outcome === 'created' && isPicked(item))
  const plain = items.reduce((sum, { plain_secrets }) => sum + plain_secrets.length, 0)

  async function next(): Promise<void> {
    if (chosen.length === 0) return go('3')
    setBusy(true)
    try {
      const done = await importServers({ agents: used, items: chosen, move_secrets: state.copy })
      const added = done.filter(({ outcome }) => outcome === 'created').length
      set({ imported: (state.imported ?? 0) + added, step: '3' }, { push: true })
    } catch (failure) {
      showFailure(failure)
    } finally {
      setBusy(false)
    }
  }

  return (
    <>
      <div>
        <h1 className={css.title}>{t('choose', { count })}</h1>
        <p className={css.lead}>{t('chooseText')}</p>
      </div>
      {error && <ErrorState error={error} />}
      <Gets items={chosen} />
      <div className={css.try}>
        <Checkbox
          label={t('try')}
          checked={trials.isOn}
          onChange={({ currentTarget: { checked } }) => (checked ? tryEach(chosen) : stopTrying())}
        />
        <span className="muted sm">{t('tryText')}</span>
      </div>
      {!data && !error && used.length > 0 && <Skeleton rows={8} height={42} />}
      <ul className="card" aria-label={t('step2')}>
        <li className={`${css.server} ${css.head}`} aria-hidden="true">
          <span />
          <span>{t('colServer')}</span>
          <span>{t('colRuns')}</span>
          <span>{t('colFound')}</span>
          <span>{t('colStarts')}</span>
        </li>
        {items.map((item) => (
          <ServerRow
            key={`${item.name} ${item.outcome}`}
            item={item}
            server={servers.find(({ id }) => id === item.server_id)}
            trial={trials.of(item)}
            isChosen={isPicked(item)}
            onChoose={(isChosen) => {
              if (isUsual(item)) set({ noServers: without(state.noServers, item.name, isChosen) })
              else set({ alsoServers: without(state.alsoServers, item.name, !isChosen) })
              if (isChosen && trials.isOn) tryEach([item])
            }}
          />
        ))}
      </ul>
      <section className={`card ${css.box}`}>
        <div className="row">
          <h2>{t('secrets')}</h2>
          <span className="muted sm">{t('plain', { count: plain })}</span>
        </div>
        <Radio.Group
          aria-label={t('secrets')}
          value={state.copy ? 'copy' : 'keep'}
          onChange={(value) => set({ copy: value === 'copy' })}
        >
          <div className={css.box} style={{ padding: 0 }}>
            <Radio value="keep" label={t('keep')} />
            <Radio
              value="copy"
              label={
                <>
                  {t('copy')} <span className="muted sm">{t('copyNote')}</span>
                </>
              }
            />
          </div>
        </Radio.Group>
      </section>
      <div className={css.foot}>
        <span className="muted sm wide-only">{t('importNote')}</span>
        <span className="right" />
        <Act look="quiet" size="md" onClick={() => go('1')}>
          {t('back')}
        </Act>
        <Act look="main" size="md" changes busy={busy} onClick={() => void next()}>
          {chosen.length === 0 ? t('continue') : t('import', { count: chosen.length })}
        </Act>
      </div>
    </>
  )
}

/** Others are neither imported nor tried unless the user ticks them. */
const isUsual = ({ approved, enabled }: ImportItem): boolean => approved && enabled

const LIST = new Intl.ListFormat('en')

/** A server of one project says of which. */
function where(agent: string, found: ImportItem['found_in']): string {
  const [project] = found.map((each) => each.project?.split(/[\\/]/).at(-1))
  const isOfProjects = found.every((each) => each.project !== null)
  return isOfProjects && project ? t('inProjectOf', { agent, project }) : agent
}

/** What the chosen servers get of the user's variables and secrets: a trial and the import allow exactly this. */
function Gets({ items }: { readonly items: readonly ImportItem[] }) {
  const asking = items.filter(({ outgoing }) => outgoing.length > 0)
  if (asking.length === 0) return null
  return (
    <section className={`card ${css.box}`} aria-label={t('gets')}>
      <h2>{t('gets')}</h2>
      <span className="muted sm">{t('getsText')}</span>
      {asking.map(({ name, outgoing }) => (
        <div key={name}>
          <b className="strong">{name}</b>
          <OutgoingList outgoing={outgoing} />
        </div>
      ))}
    </section>
  )
}

interface RowProps {
  readonly item: ImportItem
  readonly server: Server | undefined
  readonly trial: Trial | undefined
  readonly isChosen: boolean
  readonly onChoose: (isChosen: boolean) => void
}

function ServerRow({ item, server, trial, isChosen, onChoose }: RowProps) {
  const { data: agents = [] } = useAgents()
  const [isOpen, setOpen] = useState(false)
  const { name, command, args, url, found_in, variants, outcome, reason, approved, enabled } = item
  const nameOf = (type: string) => agents.find(({ agent_type }) => agent_type === type)?.name ?? type
  const short = useShort()
  const placeOf = ({
    agent_type,
    project,
  }: Pick<ImportItem['found_in'][number], 'agent_type' | 'project'>) =>
    project === null ? nameOf(agent_type) : `${nameOf(agent_type)}, ${short(project)}`
  const types = [...new Set(found_in.map(({ agent_type }) => agent_type))]
  const canChoose = outcome === 'created'
  return (
    <li className={css.server}>
      <Checkbox
        aria-label={t('take', { server: name })}
        checked={canChoose ? isChosen : outcome === 'registered'}
        disabled={!canChoose}
        onChange={({ currentTarget }) => onChoose(currentTarget.checked)}
      />
      <b className="strong cut">{name}</b>
      <span className="mono muted cut">{url ?? [command, ...args].join(' ')}</span>
      <span className="row">
        {types.slice(0, 3).map((type) => (
          <Monogram key={type} name={nameOf(type)} />
        ))}
        <span className="muted sm cut">
          {types.length === 1 ? where(nameOf(types[0] ?? ''), found_in) : t('files', { count: types.length })}
        </span>
      </span>
      <span className={css.state}>
        {trial ? (
          <TrialState trial={trial} isRemote={url !== null} />
        ) : (
          <State server={server} outcome={outcome} reason={reason} />
        )}
        {!approved && <Tag tone="warn">{t('notApproved')}</Tag>}
        {!enabled && <Tag>{t('off', { agents: LIST.format(types.map(nameOf)) })}</Tag>}
        {variants.length > 0 && (
          <>
            <Tag tone="warn">{t('variants', { count: variants.length + 1 })}</Tag>
            <Act size="xs" onClick={() => setOpen(!isOpen)}>
              {t('compare')}
            </Act>
          </>
        )}
      </span>
      {trial && <TrialReason item={item} trial={trial} />}
      {isOpen && (
        <div className={css.wide}>
          {variants.map(({ agent_type, scope, project, name: other, values }) => (
            <VariantStrip
              key={`${agent_type} ${scope} ${project}`}
              own={name}
              other={other}
              ownAgents={found_in.slice(0, 1).map(placeOf)}
              agents={[placeOf({ agent_type, project })]}
              values={values}
            />
          ))}
        </div>
      )}
    </li>
  )
}

function State({
  server,
  outcome,
  reason,
}: { readonly server: Server | undefined } & Pick<ImportItem, 'outcome' | 'reason'>) {
  if (outcome === 'refused' || outcome === 'exists')
    return (
      <span className="err row" title={reason ?? ''}>
        <Glyph name="err" />
        {t('refused')}
      </span>
    )
  if (server) return <StatusText server={server} detail={t('already')} />
  return (
    <span className="info row">
      <Glyph name="untried" />
      {t('notTried')}
    </span>
  )
}
