import { Modal } from '@mantine/core'
import { useAllowOutgoing } from '../../data/server/server-changes.ts'
import { type Server, useServers } from '../../data/servers.ts'
import { Act } from '../../parts/controls/Act.tsx'
import { showDone } from '../../parts/controls/toasts.tsx'
import { closeOutgoingDialog, useWantedOutgoing } from '../../parts/repair/outgoing-dialog.ts'
import { OutgoingList } from '../../parts/server/OutgoingList.tsx'
import { ErrorState } from '../../parts/states/ErrorState.tsx'
import { t } from '../messages.ts'

/** Lists what a server would get, and allows exactly that. */
export function OutgoingDialog() {
  const id = useWantedOutgoing()
  const { servers = [] } = useServers()
  const server = servers.find((each) => each.id === id)
  return server ? <Question key={server.id} server={server} /> : null
}

function Question({ server }: { readonly server: Server }) {
  const allow = useAllowOutgoing(server)
  const held = server.outgoing.filter(({ allowed }) => !allowed)
  const submit = () =>
    allow.mutate(held, {
      onSuccess: () => {
        closeOutgoingDialog()
        showDone(t('outgoingAllowed', { name: server.name }))
      },
    })
  return (
    <Modal opened onClose={closeOutgoingDialog} title={t('outgoingTitle', { name: server.name })} size={560}>
      <p>{t('outgoingText')}</p>
      <OutgoingList outgoing={held} />
      {allow.error && <ErrorState error={allow.error} />}
      <div className="dialog-foot">
        <Act look="quiet" size="md" onClick={closeOutgoingDialog}>
          {t('cancel')}
        </Act>
        <Act look="main" size="md" changes busy={allow.isPending} onClick={submit}>
          {t('outgoingAllow', { count: held.length })}
        </Act>
      </div>
    </Modal>
  )
}
