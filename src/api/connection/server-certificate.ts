/** A certificate chain and its key, in PEM. */
export interface TlsIdentity {
  readonly cert: Buffer;
  readonly key: Buffer;
}

/** What a TLS server presents. It changes when the certificate is renewed. */
export interface ServerCertificate {
  readonly current: TlsIdentity;
  /** @param take gets every later identity, before the next handshake. */
  onRenewal(take: (identity: TlsIdentity) => void): void;
}
