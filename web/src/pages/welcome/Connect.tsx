import { Checkbox, Radio } from '@mantine/core'
import { Act } from '../../parts/controls/Act.tsx'
import { t } from './messages.ts'
import { StartAtLogin } from './StartAtLogin.tsx'
import { type Welcome, without } from './state.ts'
import css from './Welcome.module.css'

/** Step 3: by default the files of the agents are left alone. */
export function Connect({ welcome: { found = [], state, connect, set, go } }: { readonly welcome: Welcome }) {
  const isGateway = state.mode === 'gateway'
  const agents = found.filter(({ isBroken, scope }) => !isBroken && scope?.writable === true)
  return (
    <>
      <div>
        <h1 className={css.title}>{t('how')}</h1>
        <p className={css.lead}>{t('howText')}</p>
      </div>
      <section className={`card ${css.box}`}>
        <Radio.Group
          aria-label={t('step3')}
          value={state.mode}
          onChange={(value) => set({ mode: value === 'gateway' ? 'gateway' : 'watch' })}
        >
          <div className={css.box} style={{ padding: 0 }}>
            <Radio value="watch" label={<b className="strong">{t('watch')}</b>} />
            <p className={`muted ${css.indent}`}>{t('watchText')}</p>
            <Radio value="gateway" label={<b className="strong">{t('gateway')}</b>} />
            <p className={`muted ${css.indent}`}>{t('gatewayText')}</p>
          </div>
        </Radio.Group>
        {isGateway && (
          <fieldset className={css.indent} style={{ border: 0, margin: 0 }} aria-label={t('which2')}>
            {agents.map(({ agent: { agent_type, name } }) => (
              <Checkbox
                key={agent_type}
                label={name}
                checked={connect.includes(agent_type)}
                onChange={({ currentTarget }) =>
                  set({ connect: without(connect, agent_type, !currentTarget.checked) })
                }
              />
            ))}
          </fieldset>
        )}
      </section>
      {isGateway && connect.length > 0 && (
        <StartAtLogin
          agents={agents.flatMap(({ agent }) => (connect.includes(agent.agent_type) ? [agent] : []))}
        />
      )}
      <div className={css.foot}>
        <span className="right" />
        <Act look="quiet" size="md" onClick={() => go('2')}>
          {t('back')}
        </Act>
        <Act
          iconAfter="right"
          look="main"
          size="md"
          changes
          blocked={isGateway && connect.length === 0 ? t('pickOne') : undefined}
          onClick={() => go('4')}
        >
          {t('continue')}
        </Act>
      </div>
    </>
  )
}
