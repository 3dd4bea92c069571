{{- define "cloakroom.name" -}}
{{- if contains "cloakroom" .Release.Name }}{{ .Release.Name | trunc 50 | trimSuffix "-" }}{{ else }}{{ printf "%s-cloakroom" .Release.Name | trunc 50 | trimSuffix "-" }}{{ end -}}
{{- end }}

{{- define "cloakroom.selector" -}}
app.kubernetes.io/name: cloakroom
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "cloakroom.labels" -}}
{{ include "cloakroom.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end }}

{{- define "cloakroom.image" -}}
{{- with .Values.image }}
{{- if .digest }}{{ .repository }}@{{ .digest }}{{ else }}{{ .repository }}:{{ .tag | default $.Chart.AppVersion }}{{ end -}}
{{- end }}
{{- end }}

{{- define "cloakroom.serviceAccount" -}}
{{- if .Values.serviceAccount.create }}{{ .Values.serviceAccount.name | default (include "cloakroom.name" .) }}{{ else }}{{ .Values.serviceAccount.name | default "default" }}{{ end -}}
{{- end }}

{{- define "cloakroom.isEmbedded" -}}
{{- if eq .Values.database.kind "embedded" }}true{{ end -}}
{{- end }}

{{/* Combinations that cannot work, before anything is installed. */}}
{{- define "cloakroom.check" -}}
{{- if and (include "cloakroom.isEmbedded" .) .Values.autoscaling.enabled }}{{ fail "autoscaling.enabled needs database.kind=external: the embedded database has one pod" }}{{ end }}
{{- if and (not (include "cloakroom.isEmbedded" .)) (eq .Values.rootKey.holder "data") }}{{ fail "rootKey.holder=data needs database.kind=embedded: with several pods use secret, kms or transit" }}{{ end }}
{{- if and (eq .Values.rootKey.holder "kms") (not .Values.rootKey.kms.keyId) }}{{ fail "rootKey.kms.keyId is missing" }}{{ end }}
{{- if and (eq .Values.rootKey.holder "transit") (not .Values.rootKey.transit.url) }}{{ fail "rootKey.transit.url is missing" }}{{ end }}
{{- if and .Values.gateway.enabled (not .Values.gateway.parentRefs) }}{{ fail "gateway.parentRefs is empty: name the Gateway that routes attach to" }}{{ end }}
{{- end }}

{{/* The text of a setting. Numbers of a file are floats, and from seven digits on quote writes 5.24288e+06. */}}
{{- define "cloakroom.text" -}}
{{- if kindIs "string" . }}{{ . | quote }}{{ else }}{{ . | toJson | quote }}{{ end -}}
{{- end }}

{{- define "cloakroom.env" -}}
- name: CLOAKROOM_HOST
  value: 0.0.0.0
- name: CLOAKROOM_ADMIN_HOST
  value: 0.0.0.0
- name: CLOAKROOM_DATA_DIR
  value: /data
{{- if not (include "cloakroom.isEmbedded" .) }}
- name: DATABASE_URL
  valueFrom:
    secretKeyRef:
      name: {{ .Values.database.secret.name }}
      key: {{ .Values.database.secret.key }}
{{- end }}
{{- if eq .Values.rootKey.holder "secret" }}
- name: CLOAKROOM_ROOT_KEY_FILE
  value: /run/cloakroom/root.key
{{- else if eq .Values.rootKey.holder "kms" }}
- name: CLOAKROOM_KMS_KEY_ID
  value: {{ .Values.rootKey.kms.keyId | quote }}
{{- else if eq .Values.rootKey.holder "transit" }}
- name: CLOAKROOM_TRANSIT_URL
  value: {{ .Values.rootKey.transit.url | quote }}
{{- with .Values.rootKey.transit.namespace }}
- name: CLOAKROOM_TRANSIT_NAMESPACE
  value: {{ . | quote }}
{{- end }}
{{- $secret := ternary "CLOAKROOM_TRANSIT_SECRET_ID" "CLOAKROOM_TRANSIT_TOKEN" (not (empty .Values.rootKey.transit.roleId)) }}
{{- with .Values.rootKey.transit.roleId }}
- name: CLOAKROOM_TRANSIT_ROLE_ID
  value: {{ . | quote }}
{{- end }}
- name: {{ $secret }}
  valueFrom:
    secretKeyRef:
      name: {{ .Values.rootKey.transit.secretName }}
      key: {{ $secret }}
{{- end }}
{{- if .Values.tls.secretName }}
- name: CLOAKROOM_TLS_CERT_FILE
  value: /run/tls/tls.crt
- name: CLOAKROOM_TLS_KEY_FILE
  value: /run/tls/tls.key
{{- end }}
{{- range $name, $value := .Values.settings }}
- name: {{ $name }}
  value: {{ include "cloakroom.text" $value }}
{{- end }}
{{- range $name, $from := .Values.settingsFromSecrets }}
- name: {{ $name }}
  valueFrom:
    secretKeyRef:
      name: {{ $from.name }}
      key: {{ $from.key }}
{{- end }}
{{- range $name, $value := .Values.env }}
- name: {{ $name }}
  value: {{ include "cloakroom.text" $value }}
{{- end }}
{{- end }}

{{- define "cloakroom.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop:
    - ALL
{{- end }}

{{/* A Secret's files can be read by the pod's group, which the server refuses: its own copy, in memory, cannot. */}}
{{- define "cloakroom.rootKeyCopy" -}}
{{- if eq .Values.rootKey.holder "secret" }}
initContainers:
  - name: root-key
    image: {{ include "cloakroom.image" . }}
    imagePullPolicy: {{ .Values.image.pullPolicy }}
    command: ["sh", "-c", "umask 077 && cat /run/secrets/root-key/root.key > /run/cloakroom/root.key"]
    resources:
      requests: {cpu: 10m, memory: 16Mi}
      limits: {memory: 64Mi}
    securityContext:
      {{- include "cloakroom.containerSecurity" . | nindent 6 }}
    volumeMounts:
      - {name: root-key, mountPath: /run/cloakroom}
      - {name: root-key-secret, mountPath: /run/secrets/root-key, readOnly: true}
{{- end }}
{{- end }}

{{- define "cloakroom.mounts" -}}
- {name: data, mountPath: /data}
- {name: tmp, mountPath: /tmp}
{{- if eq .Values.rootKey.holder "secret" }}
- {name: root-key, mountPath: /run/cloakroom, readOnly: true}
{{- end }}
{{- if .Values.tls.secretName }}
- {name: tls, mountPath: /run/tls, readOnly: true}
{{- end }}
{{- end }}

{{- define "cloakroom.volumes" -}}
- name: tmp
  emptyDir: {sizeLimit: 256Mi}
{{- if eq .Values.rootKey.holder "secret" }}
- name: root-key
  emptyDir: {medium: Memory, sizeLimit: 1Mi}
- name: root-key-secret
  secret:
    secretName: {{ .Values.rootKey.secret.name }}
    items:
      - {key: {{ .Values.rootKey.secret.key | quote }}, path: root.key}
{{- end }}
{{- if .Values.tls.secretName }}
- name: tls
  secret:
    secretName: {{ .Values.tls.secretName }}
{{- end }}
{{- end }}

{{/* The pod of the Deployment and of the StatefulSet. */}}
{{- define "cloakroom.pod" -}}
metadata:
  labels:
    {{- include "cloakroom.labels" . | nindent 4 }}
    app.kubernetes.io/component: server
    {{- with .Values.podLabels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  {{- with .Values.podAnnotations }}
  annotations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
spec:
  # Kubernetes would set CLOAKROOM_SERVICE_HOST and others, which the server does not know and refuses.
  enableServiceLinks: false
  automountServiceAccountToken: {{ eq .Values.rootKey.holder "kms" }}
  serviceAccountName: {{ include "cloakroom.serviceAccount" . }}
  terminationGracePeriodSeconds: {{ .Values.terminationGracePeriodSeconds }}
  {{- with .Values.imagePullSecrets }}
  imagePullSecrets:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  securityContext:
    {{- toYaml .Values.podSecurityContext | nindent 4 }}
  {{- include "cloakroom.rootKeyCopy" . | nindent 2 }}
  containers:
    - name: cloakroom
      image: {{ include "cloakroom.image" . }}
      imagePullPolicy: {{ .Values.image.pullPolicy }}
      args: ["serve"]
      env:
        {{- include "cloakroom.env" . | nindent 8 }}
      ports:
        - {name: api, containerPort: 8080}
        - {name: admin, containerPort: 9464}
      # The embedded database recovers, and an external one may start, for up to five minutes.
      startupProbe:
        httpGet: {path: /healthz, port: admin}
        periodSeconds: 2
        failureThreshold: 180
      livenessProbe:
        httpGet: {path: /healthz, port: admin}
        periodSeconds: 10
        timeoutSeconds: 3
        failureThreshold: 3
      readinessProbe:
        httpGet: {path: /readyz, port: admin}
        periodSeconds: 5
        timeoutSeconds: 3
      lifecycle:
        # Balancers learn that the pod goes before it refuses connections.
        preStop:
          exec: {command: ["sleep", "5"]}
      resources:
        {{- toYaml .Values.resources | nindent 8 }}
      securityContext:
        {{- include "cloakroom.containerSecurity" . | nindent 8 }}
      volumeMounts:
        {{- include "cloakroom.mounts" . | nindent 8 }}
  volumes:
    {{- include "cloakroom.volumes" . | nindent 4 }}
    {{- if not (include "cloakroom.isEmbedded" .) }}
    - name: data
      emptyDir: {sizeLimit: 1Gi}
    {{- end }}
  topologySpreadConstraints:
    - maxSkew: 1
      topologyKey: kubernetes.io/hostname
      whenUnsatisfiable: ScheduleAnyway
      labelSelector:
        matchLabels:
          {{- include "cloakroom.selector" . | nindent 10 }}
          app.kubernetes.io/component: server
  {{- with .Values.nodeSelector }}
  nodeSelector:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.tolerations }}
  tolerations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.affinity }}
  affinity:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end }}
