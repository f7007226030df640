/** A response with the status 401 or 403. */
export interface AuthRefusal {
  readonly status: number
  /** The WWW-Authenticate header, whole. */
  readonly challenge: string | undefined
  /** The Authorization header that was refused. */
  readonly sent: string | undefined
  /** The request had been repeated with another token already. */
  readonly isRepeated: boolean
}

/** The Authorization header of the next request. */
export interface AuthToken {
  readonly header: string | undefined
  /** From then on, `authorization()` has to be asked. */
  readonly renewAt: number
  /** The token is bound to a key: every request needs a proof of its own (DPoP, RFC 9449). */
  readonly signer?: ProofSigner | undefined
}

/** Signs the DPoP header of requests. */
export interface ProofSigner {
  /** The server's last DPoP-Nonce header. */
  nonce: string | undefined
  proof(method: string, url: URL): string
}

/** Provides the Authorization header of the requests to one server. */
export interface Authorizer {
  /** Changes with the login. It is data, because it is read for every request. */
  readonly current: { readonly token: AuthToken | undefined }
  /** Renews the token if it is due. */
  authorization(): Promise<string | undefined>
  /** Returns whether to send the request again, with the header that is valid now. */
  refused(refusal: AuthRefusal): Promise<boolean>
}
