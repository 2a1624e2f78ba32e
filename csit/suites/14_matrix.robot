*** Settings ***
Documentation       Every kind of traffic between every two places of three nodes: on one node and another, in one namespace and
...                 another, by both versions of IP; and what is for all in an ELAN. Each check is seen to fail at the end.
...
...                 blue and red have VPNs that were written by hand before their pods, so that their route targets can change.
...                 wide is one ELAN over three nodes: its pods have node 1 as their host, and ports on all.
Resource            ../resources/coeus.resource
Library             ByHand
Library             Traffic
Suite Setup         Start Three Nodes With Pods
Suite Teardown      Stop Lab

*** Variables ***
@{KINDS}            icmp    tcp    udp    full    fragments
@{FOR ALL}          broadcast    ARP for nobody    IPv4 broadcast    IPv4 multicast    IPv6 multicast    unknown address
@{WIDE}             wide:p1    wide:p2    wide:p3    wide:p4    wide:p5
@{ONE NODE}         blue:p1 blue:p2    red:p2 red:p1
@{OTHER NODE}       blue:p1 blue:p3    blue:p3 blue:p4    blue:p4 blue:p1    wide:p1 wide:p3    wide:p5 wide:p4
@{NAMESPACES}       blue:p1 red:p1    red:p3 blue:p3
@{BOTH OTHER}       blue:p1 red:p3    red:p3 blue:p4    blue:p4 red:p1

*** Test Cases ***
One Node, One Namespace, IPv4
    Every Kind Should Pass    IPv4    @{ONE NODE}

One Node, One Namespace, IPv6
    Every Kind Should Pass    IPv6    @{ONE NODE}

Another Node, One Namespace, IPv4
    Every Kind Should Pass    IPv4    @{OTHER NODE}

Another Node, One Namespace, IPv6
    Every Kind Should Pass    IPv6    @{OTHER NODE}

Namespaces Are Apart
    Every Namespace Should Be Apart

Route Targets Join Namespaces
    Put VPN    blue    7:1    64512:1
    Put VPN    red    7:2    64512:1
    Wait For Switches

One Node, Another Namespace, IPv4
    Every Kind Should Pass    IPv4    @{NAMESPACES}

One Node, Another Namespace, IPv6
    Every Kind Should Pass    IPv6    @{NAMESPACES}

Another Node, Another Namespace, IPv4
    Every Kind Should Pass    IPv4    @{BOTH OTHER}

Another Node, Another Namespace, IPv6
    Every Kind Should Pass    IPv6    @{BOTH OTHER}

Who Exchanges No Routes Stays Apart
    [Documentation]    wide has no route targets. That blue and red are joined is seen by the check for being apart.
    FOR    ${version}    IN    IPv4    IPv6
        Nothing Should Pass    blue:p1    wide:p1    ${version}
        Nothing Should Pass    wide:p3    red:p3    ${version}
        FOR    ${from}    ${to}    IN    blue:p1    red:p1    blue:p1    red:p3
            Run Keyword And Expect Error    *    Nothing Should Pass    ${from}    ${to}    ${version}
        END
    END

Without Route Targets They Are Apart Again
    Put VPN    blue    7:1
    Put VPN    red    7:2
    Wait For Switches
    Every Namespace Should Be Apart

What Is For All Stays On One Node
    [Documentation]    A namespace is one ELAN a node.
    FOR    ${kind}    IN    @{FOR ALL}
        Run Keyword And Continue On Failure    Only Members Should Get    blue:p1    ${kind}    blue:p1    blue:p2
        Run Keyword And Continue On Failure    Only Members Should Get    blue:p3    ${kind}    blue:p3
    END

What Is For All Reaches Each Member Once On All Nodes
    FOR    ${kind}    IN    @{FOR ALL}
        FOR    ${from}    IN    wide:p1    wide:p3    wide:p5
            ${copies}=    Run Keyword And Continue On Failure    Only Members Should Get    ${from}    ${kind}    @{WIDE}
            Should Be Equal As Integers    ${copies}    4
        END
    END

Nobody Gets What Bridges Keep To Themselves
    Only Members Should Get    wide:p1    reserved group

No Packet Was Handed To The Controller
    ${punted}=    Punted Packets
    Should Be Equal As Integers    ${punted}    0

The Checks Of Delivery Can Fail
    [Documentation]    Without routes on one node, without the layer 2 of another: no kind passes.
    Break Switch    2    del-flows    table=21
    Break Switch    1    del-flows    table=51
    FOR    ${version}    IN    IPv4    IPv6
        FOR    ${kind}    IN    @{KINDS}
            Run Keyword And Expect Error    ${kind} from *    Traffic Should Pass    blue:p3    blue:p4    ${version}    ${kind}    0.5
            Run Keyword And Expect Error    ${kind} from *    Traffic Should Pass    blue:p1    blue:p2    ${version}    ${kind}    0.5
        END
    END

The Checks Of Copies Can Fail
    [Documentation]    A flow that sends back what is for all, and then none that floods it.
    ${port}    ${number}=    Pod Port    wide:p4
    Break Switch    2    add-flow    table=52,priority=9,actions=output:${number},output:${number}
    Run Keyword And Expect Error    *wide:p4 got 2, not 1*    Only Members Should Get    wide:p3    broadcast    @{WIDE}
    ${port}    ${number}=    Pod Port    red:p3
    Break Switch    2    add-flow    table=52,priority=9,actions=output:${number}
    Run Keyword And Expect Error    *red:p3 got 1, not 0*    Only Members Should Get    wide:p3    broadcast    @{WIDE}
    Break Switch    2    del-flows    table=52
    Run Keyword And Expect Error    *wide:p4 got 0, not 1*    Only Members Should Get    wide:p3    broadcast    @{WIDE}

*** Keywords ***
Start Three Nodes With Pods
    # What is broken by hand stays broken.
    Start Lab And Session    3    --audit-seconds    0
    Announce Node    1    10.11.1.0/24
    Announce Node    2    10.11.2.0/24
    Announce Node    3    fd00:3::/64
    Put VPN    blue    7:1    expected=201
    Put VPN    red    7:2    expected=201
    Create Pod Of Both Versions    p1    blue    1    1    10.11.1    fd00:1::    10
    Create Pod Of Both Versions    p2    blue    1    1    10.11.1    fd00:1::    11
    Create Pod Of Both Versions    p3    blue    2    2    10.11.2    fd00:2::    10
    Create Pod Of Both Versions    p4    blue    3    3    10.11.3    fd00:3::    10
    Create Pod Of Both Versions    p1    red    1    1    10.12.1    fd00:12:1::    10
    Create Pod Of Both Versions    p2    red    1    1    10.12.1    fd00:12:1::    11
    Create Pod Of Both Versions    p3    red    2    2    10.12.2    fd00:12:2::    10
    Create Pod Of Both Versions    p4    red    3    3    10.12.3    fd00:12:3::    10
    Create Pod Of Both Versions    p1    wide    1    1    10.13.0    fd00:13::    11
    Create Pod Of Both Versions    p2    wide    1    1    10.13.0    fd00:13::    12
    Create Pod Of Both Versions    p3    wide    1    2    10.13.0    fd00:13::    13
    Create Pod Of Both Versions    p4    wide    1    2    10.13.0    fd00:13::    14
    Create Pod Of Both Versions    p5    wide    1    3    10.13.0    fd00:13::    15
    FOR    ${address}    IN    10.13.0.12    10.13.0.13    10.13.0.14    10.13.0.15    fd00:13::15
        Ping Should Pass    wide:p1    ${address}
    END
    FOR    ${address}    IN    10.11.1.11    10.11.2.10    10.11.3.10    fd00:2::10    fd00:3::10
        Ping Should Pass    blue:p1    ${address}
    END
    Ping Should Pass    red:p4    10.12.2.10
    Wait For Switches

Create Pod Of Both Versions
    [Documentation]    A pod of a host, with its port on that or another node.
    [Arguments]    ${name}    ${namespace}    ${host}    ${node}    ${v4}    ${v6}    ${number}
    ${body}=    Dual Pod Body    ${name}    ${namespace}    ${host}    ${v4}.${number}    ${v6}${number}
    ${uid}=    Pod Uid    ${namespace}:${name}
    PUT On Session    coeus    ${CONFIG}/pod:coe/pods/${uid}    json=${body}    expected_status=201
    Plug Pod    ${name}    ${namespace}    ${node}    ${v4}.${number}/24    ${v4}.1
    Add Address    ${namespace}:${name}    ${v6}${number}/64    fe80::1

Put VPN
    [Documentation]    A VPN by hand that exports and imports the route target, if there is one.
    [Arguments]    ${name}    ${rd}    ${target}=${EMPTY}    ${expected}=200
    ${body}=    VPN Body    ${name}    ${rd}    ${target}    ${target}
    PUT On Session    coeus    ${CONFIG}/l3vpn:vpn-instances/vpn-instance/${name}    json=${body}    expected_status=${expected}

Every Kind Should Pass
    [Arguments]    ${version}    @{pairs}
    FOR    ${pair}    IN    @{pairs}
        ${from}    ${to}=    Evaluate    $pair.split()
        FOR    ${kind}    IN    @{KINDS}
            Run Keyword And Continue On Failure    Traffic Should Pass    ${from}    ${to}    ${version}    ${kind}
        END
    END

Every Namespace Should Be Apart
    FOR    ${version}    IN    IPv4    IPv6
        FOR    ${pair}    IN    @{NAMESPACES}    @{BOTH OTHER}
            ${from}    ${to}=    Evaluate    $pair.split()
            Run Keyword And Continue On Failure    Nothing Should Pass    ${from}    ${to}    ${version}
        END
    END
