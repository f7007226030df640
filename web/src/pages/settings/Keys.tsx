import { useState } from 'react'
import { useAgents } from '../../data/agents.ts'
import { useGatewayKeys, useRemoveKey } from '../../data/settings.ts'
import { Cell, Head, Row, Table } from '../../parts/content/Table.tsx'
import { Act } from '../../parts/controls/Act.tsx'
import { showFailure, showUndo } from '../../parts/controls/toasts.tsx'
import { Monogram } from '../../parts/marks/Tag.tsx'
import { Time } from '../../parts/marks/Time.tsx'
import { Entry } from './Entry.tsx'
import { t } from './messages.ts'
import { NewKey } from './NewKey.tsx'
import css from './Settings.module.css'
import { useLeaving } from './use-leaving.ts'

/** The keys by which agents use the gateway. One that is revoked stops working ten seconds later. */
export function Keys() {
  const { data } = useGatewayKeys()
  const { data: agents = [] } = useAgents()
  const remove = useRemoveKey()
  const [isCreating, setCreating] = useState(false)
  const { isLeaving, leave, stay } = useLeaving()
  const nameOf = (type: string) => agents.find(({ agent_type }) => agent_type === type)?.name ?? type
  const keys = data?.items.filter(({ id }) => !isLeaving(id)) ?? []
  const revoke = (id: string, agent: string) => {
    leave(id)
    showUndo({
      title: t('revoked', { id, agent }),
      onUndo: () => stay(id),
      onOver: () => remove.mutate(id, { onError: (error) => showFailure(error), onSettled: () => stay(id) }),
    })
  }
  const list = (
    <Table label={t('keys')} least={600}>
      <thead>
        <tr>
          <Head>{t('agent')}</Head>
          <Head width={120}>{t('key')}</Head>
          <Head width={110}>{t('created_at')}</Head>
          <Head width={110}>{t('lastUsed')}</Head>
          <Head number width={96} label={t('actions')} />
        </tr>
      </thead>
      <tbody>
        {keys.map(({ id, name, agent_type, created_at, last_used_at }) => (
          <Row key={id}>
            <Cell>
              <span className="row">
                <Monogram name={nameOf(agent_type)} />
                <span className={css.keyOf}>
                  <span className="cut">{nameOf(agent_type)}</span>
                  {name !== agent_type && <span className="cut muted sm">{purposeOf(name)}</span>}
                </span>
              </span>
            </Cell>
            <Cell className="mono">{id}</Cell>
            <Cell>
              <Time at={created_at} />
            </Cell>
            <Cell>{last_used_at === null ? t('never') : <Time at={last_used_at} exact />}</Cell>
            <Cell number>
              <Act size="xs" look="danger" changes onClick={() => revoke(id, nameOf(agent_type))}>
                {t('revoke')}
              </Act>
            </Cell>
          </Row>
        ))}
      </tbody>
    </Table>
  )
  return (
    <>
      <Entry name={t('newKeyName')} text={t('newKeyHelp')}>
        <Act icon="plus" changes onClick={() => setCreating(true)}>
          {t('newKey')}
        </Act>
      </Entry>
      {isCreating && <NewKey onClose={() => setCreating(false)} />}
      {keys.length === 0 ? <p className={`muted ${css.none}`}>{t('noKeys')}</p> : list}
    </>
  )
}

/** What a key is for that connecting an agent has created, in place of its name. */
function purposeOf(name: string): string {
  const [, kind, scope = ''] = /^(connect|gateway): (.+)$/.exec(name) ?? []
  if (kind === undefined) return name
  return kind === 'connect' ? t('keyOfGateway', { scope }) : t('keyOfEntries', { scope })
}
