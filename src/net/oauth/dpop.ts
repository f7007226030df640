import {
  createHash,
  createPrivateKey,
  generateKeyPairSync,
  type JsonWebKey,
  randomUUID,
  sign,
} from 'node:crypto'
import type { ProofSigner } from '../authorizer.ts'
import type { IssuerInfo } from './issuer-metadata.ts'
import type { Challenge } from './www-authenticate.ts'

/** A private key as a JWK, so that it can be stored with the tokens that are bound to it. */
export type ProofKey = JsonWebKey

const ALG = 'ES256'

/** True when the server accepts only tokens that are bound to a key (DPoP, RFC 9449), and the issuer can bind them. */
export const needsProof = (challenge: Challenge | undefined, issuer: IssuerInfo): boolean =>
  challenge?.scheme === 'dpop' && issuer.dpop_signing_alg_values_supported?.includes(ALG) === true

export const newProofKey = (): ProofKey =>
  generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({ format: 'jwk' })

/** A signer of the proofs for one origin, each of which is valid for one request. */
export function proofSigner(jwk: ProofKey, accessToken?: string): ProofSigner {
  const key = createPrivateKey({ key: jwk, format: 'jwk' })
  const { kty, crv, x, y } = jwk
  const header = encoded({ typ: 'dpop+jwt', alg: ALG, jwk: { kty, crv, x, y } })
  const bound = accessToken !== undefined && {
    ath: createHash('sha256').update(accessToken).digest('base64url'),
  }
  return {
    nonce: undefined,
    proof(method, { origin, pathname }) {
      const { nonce } = this
      const payload = {
        jti: randomUUID(),
        htm: method,
        htu: `${origin}${pathname}`,
        iat: Math.floor(Date.now() / 1000),
        ...bound,
        ...(nonce !== undefined && { nonce }),
      }
      const data = `${header}.${encoded(payload)}`
      const signature = sign('sha256', Buffer.from(data), { key, dsaEncoding: 'ieee-p1363' })
      return `${data}.${signature.toString('base64url')}`
    },
  }
}

const encoded = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
