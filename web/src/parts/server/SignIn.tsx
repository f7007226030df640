import type { HttpServer } from '../../data/api.ts'
import { loginRefused, useConfirmLogin, useSignIn, useSignOut } from '../../data/server/server-login.ts'
import { Act } from '../controls/Act.tsx'
import { showDone, showFailure } from '../controls/toasts.tsx'
import { t } from './messages.ts'

interface Props {
  readonly server: HttpServer
  readonly size?: 'xs' | 'sm'
}

/** A login can help: the server asks for one, or has one. A configured header is no login. */
export const canSignIn = ({ auth, status }: HttpServer): boolean =>
  auth.method === 'login' ||
  ['needs_login', 'expired', 'refused'].includes(auth.state) ||
  status === 'auth_required'

/** Signs in at the page of the issuer, in a new tab. */
export function SignIn({ server, size = 'sm' }: Props) {
  const signIn = useSignIn()
  const isAgain = ['expired', 'refused', 'logged_in'].includes(server.auth.state)
  const begin = () => {
    // Opened by the click itself, because browsers block what opens later.
    const tab = window.open('', '_blank')
    signIn.mutate(server.id, {
      onSuccess: ({ authorization_url }) => {
        if (tab) {
          tab.opener = null
          tab.location.href = authorization_url
        }
        showDone(t('opened'), t('openedText'))
        loginRefused(server.id).then(
          (reason) => reason !== undefined && showFailure(new Error(reason), t('notSignedIn')),
          showFailure,
        )
      },
      onError: (error) => {
        tab?.close()
        showFailure(error)
      },
    })
  }
  return (
    <Act size={size} changes busy={signIn.isPending} onClick={begin}>
      {isAgain ? t('signInAgain') : t('signIn')}
    </Act>
  )
}

interface ConfirmProps extends Props {
  readonly login: { readonly unconfirmed_account: string | null } | undefined
}

/** A login that an agent led to waits until a person has seen its account. */
export function ConfirmLogin({ server, login, size = 'sm' }: ConfirmProps) {
  const confirm = useConfirmLogin()
  const account = login?.unconfirmed_account ?? t('unnamedAccount')
  const answer = (accept: boolean) =>
    confirm.mutate(
      { id: server.id, accept },
      {
        onSuccess: ({ problem }) =>
          accept && problem
            ? showFailure(new Error(problem.message))
            : showDone(t(accept ? 'confirmed' : 'rejected', { account })),
        onError: (error) => showFailure(error),
      },
    )
  return (
    <>
      <Act size={size} look="main" changes busy={confirm.isPending} onClick={() => answer(true)}>
        {t('confirmLogin', { account })}
      </Act>
      <Act size={size} look="quiet" changes busy={confirm.isPending} onClick={() => answer(false)}>
        {t('rejectLogin')}
      </Act>
    </>
  )
}

export function SignOut({ server, size = 'sm' }: Props) {
  const signOut = useSignOut()
  const end = () =>
    signOut.mutate(server.id, {
      onSuccess: () => showDone(t('signedOut', { name: server.name })),
      onError: (error) => showFailure(error),
    })
  return (
    <Act size={size} look="quiet" changes busy={signOut.isPending} onClick={end}>
      {t('signOut')}
    </Act>
  )
}
