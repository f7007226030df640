import { createPrivateKey, type KeyObject, type webcrypto } from 'node:crypto'
import { type ClientAuth, ClientSecretPost, None, PrivateKeyJwt } from 'oauth4webapi'
import { OAuthFailure } from './failure.ts'
import type { OAuthClient } from './oauth-client.ts'

/** How the client proves at the token endpoint who it is. */
export async function authOf(client: OAuthClient): Promise<ClientAuth> {
  const { auth_method, client_secret = '', private_key = '' } = client
  if (auth_method === 'client_secret_basic') return basic(client_secret)
  if (auth_method === 'client_secret_post') return ClientSecretPost(client_secret)
  if (auth_method === 'private_key_jwt')
    return PrivateKeyJwt(await signingKey(private_key, client.signing_alg))
  return None()
}

/**
 * The library writes `-` as `%2D`, which is correct, but some issuers compare the credentials without decoding them.
 * Only what must be encoded is encoded here.
 */
function basic(secret: string): ClientAuth {
  return (_, { client_id }, __, headers) => {
    const credentials = [client_id, secret].map((each) => encodeURIComponent(each).replaceAll('%20', '+'))
    headers.set('authorization', `Basic ${Buffer.from(credentials.join(':')).toString('base64')}`)
  }
}

/** A PEM key, for the algorithm that is set or that is usual for its type. */
async function signingKey(pem: string, alg?: string): Promise<webcrypto.CryptoKey> {
  try {
    const key = createPrivateKey(pem)
    const pkcs8 = key.export({ type: 'pkcs8', format: 'der' })
    return await crypto.subtle.importKey('pkcs8', pkcs8, parametersOf(alg ?? usualAlg(key)), false, ['sign'])
  } catch {
    // Without the cause, which may quote the key.
    const message = `oauth.private_key is not a PEM key${alg === undefined ? '' : ` for ${alg}`}`
    const hint =
      'Set oauth.private_key to the private key in PEM, and oauth.signing_alg to its algorithm, such as ES256'
    throw new OAuthFailure('client_refused', message, hint)
  }
}

function usualAlg({ asymmetricKeyType, asymmetricKeyDetails }: KeyObject): string {
  if (asymmetricKeyType === 'rsa') return 'RS256'
  if (asymmetricKeyType === 'ed25519') return 'Ed25519'
  const curves: Readonly<Record<string, string>> = {
    prime256v1: 'ES256',
    secp384r1: 'ES384',
    secp521r1: 'ES512',
  }
  return curves[asymmetricKeyDetails?.namedCurve ?? ''] ?? ''
}

type Parameters = webcrypto.Algorithm | webcrypto.RsaHashedImportParams | webcrypto.EcKeyImportParams

function parametersOf(alg: string): Parameters {
  const hash = `SHA-${alg.slice(2)}`
  if (/^RS(?:256|384|512)$/.test(alg)) return { name: 'RSASSA-PKCS1-v1_5', hash }
  if (/^PS(?:256|384|512)$/.test(alg)) return { name: 'RSA-PSS', hash }
  if (alg === 'ES512') return { name: 'ECDSA', namedCurve: 'P-521' }
  if (/^ES(?:256|384)$/.test(alg)) return { name: 'ECDSA', namedCurve: `P-${alg.slice(2)}` }
  return { name: 'Ed25519' }
}
