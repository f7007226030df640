import { Checkbox } from '@mantine/core'
import { useState } from 'react'
import { useLocation } from 'wouter'
import { useAgents } from '../../data/agents.ts'
import { program } from '../../data/browser/program.ts'
import { endFirstRun, type ImportItem, useImportable, useOrphans } from '../../data/first-run/first-run.ts'
import { useShort } from '../../data/live/home-folder.ts'
import { faultIn } from '../../format/fault.ts'
import { bytes } from '../../format/format.ts'
import { FileLines } from '../../parts/content/FileLines.tsx'
import { foundSentence } from '../../parts/content/found-sentence.ts'
import { Act } from '../../parts/controls/Act.tsx'
import { Glyph } from '../../parts/marks/Glyph.tsx'
import { Monogram } from '../../parts/marks/Tag.tsx'
import { t } from './messages.ts'
import { type FoundAgent, type Welcome, without } from './state.ts'
import css from './Welcome.module.css'

/** Step 1: what is on this computer. */
export function Found({ welcome }: { readonly welcome: Welcome }) {
  const { found = [], used, scan, state, set, go } = welcome
  const [, navigate] = useLocation()
  const { data } = useImportable(used)
  const items = data?.filter(({ outcome }) => outcome !== 'refused')
  const skip = () => {
    endFirstRun()
    navigate('/')
  }
  return (
    <>
      <div>
        <h1 className={css.title}>{scan ? foundSentence(scan) : t('foundAgents')}</h1>
        <p className={css.lead}>{t('foundText')}</p>
      </div>
      <ul className="card" aria-label={t('agentsFound')}>
        {found.map((each) => (
          <AgentRow
            key={each.agent.agent_type}
            found={each}
            isUsed={!state.noAgents.includes(each.agent.agent_type)}
            onUse={(isUsed) => set({ noAgents: without(state.noAgents, each.agent.agent_type, isUsed) })}
          />
        ))}
      </ul>
      <Orphans />
      {items && <Preview items={items} />}
      <OtherAgents found={found} />
      <div className={css.foot}>
        <span className="muted sm wide-only">
          {t.rich('terminal', {
            command: (
              <span key="command" className="mono">
                {program} init
              </span>
            ),
          })}
        </span>
        <span className="right" />
        <Act look="quiet" size="md" onClick={() => skip()}>
          {t('skip')}
        </Act>
        <Act iconAfter="right" look="main" size="md" changes onClick={() => go('2')}>
          {t('continue')}
        </Act>
      </div>
    </>
  )
}

interface RowProps {
  readonly found: FoundAgent
  readonly isUsed: boolean
  readonly onUse: (isUsed: boolean) => void
}

function AgentRow({ found: { agent, scope, isBroken, entries, projects }, isUsed, onUse }: RowProps) {
  const short = useShort()
  const [isOpen, setOpen] = useState(false)
  const broken = agent.scopes.find(({ parse_error }) => parse_error !== null)
  const error = broken?.parse_error
  return (
    <li className={css.agent}>
      {isBroken ? (
        <span className="warn">
          <Glyph name="look" />
        </span>
      ) : entries > 0 ? (
        <Checkbox
          aria-label={t('use', { agent: agent.name })}
          checked={isUsed}
          onChange={({ currentTarget }) => onUse(currentTarget.checked)}
        />
      ) : (
        <span />
      )}
      <Monogram name={agent.name} />
      <b className="strong cut">{agent.name}</b>
      <span className={`muted ${css.path}`}>
        {entries > 0 || isBroken ? (
          <span className="mono">{short((broken ?? scope)?.path ?? '')}</span>
        ) : (
          t('noServers')
        )}
        {projects.map(({ project, entries: count }) => (
          <span key={project} className={css.project}>
            {t('inProject', { count })} <span className="mono">{short(project)}</span>
          </span>
        ))}
        {error && (
          <>
            {' '}
            <b className="warn strong">{t('parseError', { line: error.line, message: faultIn(error) })}</b>{' '}
            {t('leftAlone')}
          </>
        )}
      </span>
      {error ? (
        <Act size="xs" onClick={() => setOpen(!isOpen)}>
          {t(isOpen ? 'hideLine' : 'showLine')}
        </Act>
      ) : (
        <span className={entries > 0 ? '' : 'muted'}>{t('servers', { count: entries })}</span>
      )}
      {isOpen && error && broken && (
        <div className={css.line}>
          <p className="mono muted">
            {t('lineAt', { line: error.line, column: error.column, path: short(broken.path) })}
          </p>
          <FileLines agentType={agent.agent_type} scope={broken.scope} around={error.line} />
        </div>
      )}
    </li>
  )
}

function Orphans() {
  const { data: orphans = [] } = useOrphans()
  const [isOpen, setOpen] = useState(false)
  if (orphans.length === 0) return null
  const memory = bytes(orphans.reduce((sum, { rss_bytes }) => sum + rss_bytes, 0))
  return (
    <section className={`card ${css.strip}`}>
      <span className="warn">
        <Glyph name="look" />
      </span>
      <span className="grow">
        <b className="strong">{t('orphans', { count: orphans.length })}</b> {t('orphansHold', { memory })}
      </span>
      <Act size="sm" onClick={() => setOpen(!isOpen)}>
        {t(isOpen ? 'hide' : 'look')}
      </Act>
      {isOpen && (
        <ul className="mono muted">
          {orphans.map(({ id, pid, command, rss_bytes }) => (
            <li key={id} className={css.path}>
              {pid} {bytes(rss_bytes)} {command}
            </li>
          ))}
        </ul>
      )}
    </section>
  )
}

function Preview({ items }: { readonly items: readonly ImportItem[] }) {
  const { data: agents = [] } = useAgents()
  const remote = items.filter(({ url }) => url !== null).length
  const nameOf = (type: string) => agents.find(({ agent_type }) => agent_type === type)?.name ?? type
  return (
    <section className="card" aria-label={t('theServers', { count: items.length })}>
      <div className="card-head">
        <h2>{t('theServers', { count: items.length })}</h2>
        <span className="muted sm">{t('kinds', { local: items.length - remote, remote })}</span>
      </div>
      <ul className={css.preview}>
        {items.map(({ name, command, found_in, variants }) => (
          <li key={name}>
            <div className="row">
              <b className="strong grow">{name}</b>
              <Users names={[...new Set(found_in.map(({ agent_type }) => agent_type))].map(nameOf)} />
            </div>
            <div className={variants.length > 0 ? 'warn sm cut' : 'muted sm cut'}>
              {command === null ? t('remote') : command.split(/[\\/]/).at(-1)}
              {variants.length > 0 && `, ${t('variants', { count: variants.length + 1 })}`}
            </div>
          </li>
        ))}
      </ul>
    </section>
  )
}

const SHOWN_USERS = 3

function Users({ names }: { readonly names: readonly string[] }) {
  const others = names.slice(SHOWN_USERS)
  return (
    <>
      {names.slice(0, SHOWN_USERS).map((name) => (
        <Monogram key={name} name={name} />
      ))}
      {others.length > 0 && (
        <span className="muted xs" title={others.join(', ')}>
          +{others.length}
        </span>
      )}
    </>
  )
}

function OtherAgents({ found }: { readonly found: readonly FoundAgent[] }) {
  const { data: all = [] } = useAgents()
  const [isOpen, setOpen] = useState(false)
  const others = all.filter((agent) => !found.some((each) => each.agent.agent_type === agent.agent_type))
  if (others.length === 0) return null
  return (
    <p className="muted sm">
      {t('others', { count: others.length })}{' '}
      {isOpen ? (
        others.map(({ name }) => name).join(', ')
      ) : (
        <Act size="xs" look="quiet" onClick={() => setOpen(true)}>
          {t('which')}
        </Act>
      )}
    </p>
  )
}
