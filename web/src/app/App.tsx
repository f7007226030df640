import { MantineProvider } from '@mantine/core'
import { useMediaQuery } from '@mantine/hooks'
import { Notifications } from '@mantine/notifications'
import { QueryClientProvider } from '@tanstack/react-query'
import { Router } from 'wouter'
import { queryClient } from '../data/query-client.ts'
import { cssVariablesResolver, theme } from '../theme/theme.ts'
import { useGuardedLocation } from '../url/leaving.ts'
import css from './Layout.module.css'
import { Layout } from './Layout.tsx'

/** A nonce for each response: Mantine creates style elements, which the policy allows only with it. */
const nonce = document.querySelector<HTMLMetaElement>('meta[name="csp-nonce"]')?.nonce ?? ''
// The same for the package that stops the page behind a dialog from scrolling, which looks for it under this name.
Object.assign(globalThis, { __webpack_nonce__: nonce })

export function App() {
  const isPhone = useMediaQuery('(max-width: 600px)') ?? false
  return (
    <QueryClientProvider client={queryClient}>
      <MantineProvider
        theme={theme}
        cssVariablesResolver={cssVariablesResolver}
        defaultColorScheme="auto"
        getStyleNonce={() => nonce}
      >
        <Notifications
          position="bottom-right"
          limit={isPhone ? 1 : 3} // the others wait
          containerWidth={384}
          className={css.toasts ?? ''}
        />
        <Router hook={useGuardedLocation}>
          <Layout />
        </Router>
      </MantineProvider>
    </QueryClientProvider>
  )
}
