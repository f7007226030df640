import type { Network } from '../../../net/connection-pool.ts'
import { environmentSettings, proxyFrom, type Setting } from '../../../net/proxy.ts'

type Env = Readonly<Record<string, string | undefined>>

/** npm's settings `ca`, `cafile`, `proxy`, `https-proxy` and `noproxy`, then the proxy variables of the environment. */
export function npmNetwork(
  setting: (key: string) => unknown,
  cafile: string,
  env: Env,
): Pick<Network, 'ca' | 'proxyFor'> {
  const listed = strings(setting('ca')).map((text) => text.replaceAll('\\n', '\n'))
  const filed = certificatesIn(cafile)
  const ca = [...listed, ...filed]
  const proxySetting = (key: string): Setting => {
    const [value] = strings(setting(key)).filter((text) => text.includes('://')) // npm writes null for none
    return { name: `npm's setting '${key}'`, value }
  }
  const { http, https, noProxy } = environmentSettings(env)
  return {
    ca: ca.length > 0 ? ca : undefined,
    proxyFor: proxyFrom({
      http: [proxySetting('proxy'), ...http],
      https: [proxySetting('https-proxy'), proxySetting('proxy'), ...https],
      noProxy: [...strings(setting('noproxy')), noProxy].join(','),
    }),
  }
}

const strings = (value: unknown): string[] =>
  [value].flat().filter((text): text is string => typeof text === 'string' && text !== '')

const [BEGIN, END] = ['-----BEGIN CERTIFICATE-----', '-----END CERTIFICATE-----']

function certificatesIn(text: string): string[] {
  return text.split(BEGIN).flatMap((part, index) => {
    const end = part.indexOf(END)
    return index === 0 || end === -1 ? [] : [BEGIN + part.slice(0, end) + END]
  })
}
