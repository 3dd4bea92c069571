import { Component, type ReactNode } from "react";

interface BrokenProps {
  readonly children: ReactNode;
  /** Before the screen is shown again. */
  readonly onRetry: () => void;
}

/**
 * Shows in a screen's stead that it failed. Most often a part of it did not load: the network was away, or, after an
 * upgrade, the server has other parts than the page knows, which a reload mends.
 */
export class Broken extends Component<BrokenProps, { hasFailed: boolean }> {
  override state = { hasFailed: false };

  static getDerivedStateFromError() {
    return { hasFailed: true };
  }

  override render() {
    if (!this.state.hasFailed) return this.props.children;
    const retry = () => {
      this.props.onRetry();
      this.setState({ hasFailed: false });
    };
    return (
      <div className="note problem" role="alert">
        <h1>This screen could not be shown</h1>
        <p>A part of it did not load. Try again; if that does not help, reload the page.</p>
        <div className="actions">
          <button type="button" className="primary" onClick={retry}>
            Try again
          </button>
          <button type="button" onClick={() => location.reload()}>
            Reload
          </button>
        </div>
      </div>
    );
  }
}
